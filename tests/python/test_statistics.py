import math
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest
from assay.errors import AssayError
from assay.statistics import (
    MARGINS,
    Pair,
    bootstrap_means,
    margins_by_run,
    paired_margin,
    samples_needed,
    stable_seed,
)


def pair(sample: str, king: float, challenger: float, instance: str | None = None) -> Pair:
    return Pair(sample, instance or sample, king, challenger)


def test_mean_and_error_of_independent_samples_are_those_of_a_paired_test() -> None:
    # Differences 0.1, 0.3, 0.2, 0.4: mean 0.25, sd sqrt(0.05 / 3), error sd / 2.
    found = paired_margin(
        [pair("a", 0.5, 0.6), pair("b", 0.5, 0.8), pair("c", 0.5, 0.7), pair("d", 0.5, 0.9)], "run", 0.025, 2, 2000
    )
    assert (found.n_pairs, found.n_samples, found.n_instances) == (4, 4, 4)
    assert found.mean == pytest.approx(0.25)
    assert found.standard_deviation == pytest.approx(math.sqrt(0.05 / 3))
    assert found.standard_error == pytest.approx(math.sqrt(0.05 / 3) / 2)
    assert found.within_variance is None
    assert found.low is not None and found.high is not None
    assert 0.1 <= found.low < 0.25 < found.high <= 0.4


def test_replicas_are_averaged_inside_their_sample_before_samples_are() -> None:
    # Sample a: 0.2 and 0.4, mean 0.3, variance 0.02; sample b: 0.1. Mean of samples 0.2, not of pairs 0.7 / 3.
    found = paired_margin([pair("a", 0.0, 0.2), pair("a", 0.0, 0.4), pair("b", 0.0, 0.1)], "run", None, 1, 100)
    assert (found.n_pairs, found.n_samples) == (3, 2)
    assert found.mean == pytest.approx(0.2)
    assert found.within_variance == pytest.approx(0.02)
    assert found.standard_error == pytest.approx(0.1)
    assert found.p_beats is None and found.p_wins is None


def test_samples_of_one_task_instance_are_one_cluster() -> None:
    # Two instances of two samples, all differences equal inside: sums deviate by 0.2 and -0.2 from the mean 0.2.
    pairs = [
        pair("a1", 0.0, 0.3, "a"), pair("a2", 0.0, 0.3, "a"), pair("b1", 0.0, 0.1, "b"), pair("b2", 0.0, 0.1, "b"),
    ]  # fmt: skip
    found = paired_margin(pairs, "run", 0.025, 1, 2000)
    assert found.n_instances == 2
    assert found.standard_error == pytest.approx(math.sqrt(2 * 0.08) / 4)
    unclustered = paired_margin([pair(p.sample, p.king, p.challenger) for p in pairs], "run", 0.025, 1, 2000)
    assert unclustered.standard_error is not None and found.standard_error is not None
    assert unclustered.standard_error == pytest.approx(math.sqrt(0.04 / 3) / 2)
    assert found.standard_error > unclustered.standard_error
    # Means of two drawn instances are 0.1, 0.2 or 0.3.
    assert found.low == pytest.approx(0.1)
    assert found.high == pytest.approx(0.3)
    assert found.p_beats == 1.0


@pytest.mark.parametrize(
    "pairs",
    [[pair("a", 0.5, 0.6)], [pair("a1", 0.5, 0.6, "a"), pair("a2", 0.5, 0.9, "a")]],
    ids=["one sample", "one cluster"],
)
def test_what_one_cluster_cannot_say_is_null_and_not_zero(pairs: list[Pair]) -> None:
    found = paired_margin(pairs, "run", 0.025, 2, 100)
    assert found.mean is not None and found.mean > 0
    assert found.n_instances == 1
    for value in (found.standard_error, found.low, found.high, found.p_beats, found.p_wins):
        assert value is None


def test_no_pairs_give_no_margin() -> None:
    found = paired_margin([], "run", 0.025, 2, 100)
    assert (found.n_pairs, found.n_samples, found.n_instances, found.mean, found.low) == (0, 0, 0, None, None)


def test_equal_samples_have_an_interval_of_no_width_and_a_certain_answer() -> None:
    found = paired_margin([pair(name, 0.25, 0.5) for name in "abcd"], "run", 0.25, 2, 100)
    assert (found.standard_error, found.low, found.high) == (0.0, 0.25, 0.25)
    assert (found.p_beats, found.p_wins) == (1.0, 1.0)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, -0.1, 1.1, 1e200])
def test_a_score_that_is_none_is_refused_by_name(value: float) -> None:
    with pytest.raises(AssayError, match="sample bad has a score that is not between 0 and 1"):
        paired_margin([pair("good", 0.5, 0.5), pair("bad", value, 0.5)], "run", 0.025, 2, 100)


def test_enough_wins_is_the_chance_of_every_one_of_independent_runs() -> None:
    pairs = [pair(str(number), 0.5, 0.5 + 0.02 * (number % 4)) for number in range(20)]
    once, twice = (paired_margin(pairs, "run", 0.03, wins, 5000) for wins in (1, 2))
    assert once.p_beats is not None and 0 < once.p_beats < 1
    assert once.p_wins == once.p_beats
    assert twice.p_wins == pytest.approx(once.p_beats**2)


def test_the_draws_follow_from_the_run_alone_whatever_the_order_of_the_pairs() -> None:
    pairs = [pair(str(number), 0.5, 0.4 + 0.01 * (number * 7 % 13)) for number in range(30)]
    first = paired_margin(pairs, "run", 0.0, 2, 1000)
    assert paired_margin(list(reversed(pairs)), "run", 0.0, 2, 1000) == first
    assert paired_margin(pairs, "another run", 0.0, 2, 1000).low != first.low
    assert stable_seed("run") == 0xACBA25512100F80B


def test_the_bootstrap_spreads_as_the_theory_says() -> None:
    generator = np.random.default_rng(5)
    values = generator.normal(0.0, 1.0, 400)
    means = bootstrap_means(values, np.ones(400), "spread", 4000)
    assert means.shape == (4000,)
    assert float(means.std()) == pytest.approx(float(values.std()) / 20, rel=0.05)
    assert float(means.mean()) == pytest.approx(float(values.mean()), abs=0.005)


def test_the_bootstrap_is_the_same_however_many_draws_are_made_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    sums, sizes = np.arange(7.0), np.ones(7)
    whole = bootstrap_means(sums, sizes, "pieces", 50)
    monkeypatch.setattr("assay.statistics._DRAWS_AT_A_TIME", 21)
    assert np.array_equal(bootstrap_means(sums, sizes, "pieces", 50), whole)


@pytest.mark.parametrize(
    ("deviation", "half_width", "power_80"), [(0.207, 264, 539), (0.28, 482, 985), (0.35, 753, 1539)]
)
def test_sample_sizes_for_a_margin_of_0_025_are_the_known_ones(
    deviation: float, half_width: int, power_80: int
) -> None:
    assert samples_needed(deviation, 0.025) == half_width
    assert samples_needed(deviation, 0.025, 0.8) == power_80


def test_a_hundred_samples_resolve_0_041_and_five_hundred_do_not_yet_suffice_for_0_025() -> None:
    # A per-sample error of 0.207 gives +/- 0.041 on 100 samples: wider than the margin that decides a duel.
    assert (samples_needed(0.207, 0.0406), samples_needed(0.207, 0.0405)) == (100, 101)
    assert samples_needed(0.207, 0.025, 0.8) == 539


@pytest.mark.parametrize("margin", [1e-12, 1e-300, 5e-324])
def test_a_number_of_samples_that_no_column_holds_is_null(margin: float) -> None:
    assert samples_needed(0.2, margin) is None
    assert samples_needed(0.0, margin) == 0
    assert samples_needed(0.2, 1e-6) == 153658352828


def test_a_margin_of_nothing_needs_no_number() -> None:
    with pytest.raises(ValueError, match="margin must be above 0"):
        samples_needed(0.2, 0.0)


def batches(rows: list[tuple[object, ...]], size: int) -> Iterator[pa.RecordBatch]:
    names = [
        "eval_run_id", "required_margin", "wins_needed", "sample_id", "task_instance", "score_king", "score_challenger",
    ]  # fmt: skip
    for begin in range(0, len(rows), size):
        yield pa.RecordBatch.from_pylist([dict(zip(names, row, strict=True)) for row in rows[begin : begin + size]])


def test_a_run_that_lies_in_several_batches_is_one_row() -> None:
    rows: list[tuple[object, ...]] = [
        ("r1", 0.025, 2, "a", "a", 0.5, 0.7),
        ("r1", 0.025, 2, "b", "b", 0.5, 0.6),
        ("r1", 0.025, 2, "c", "c", 0.5, 0.5),
        ("r2", None, None, "a", "a", 0.5, 0.25),
    ]
    found = [pa.Table.from_batches(list(margins_by_run(batches(rows, size), 500)), MARGINS) for size in (1, 2, 10)]
    assert found[0].equals(found[1]) and found[0].equals(found[2])
    first, second = found[0].to_pylist()
    assert (first["eval_run_id"], first["n_pairs"], first["margin_mean"]) == ("r1", 3, pytest.approx(0.1))
    assert first["n_needed_half_width"] == samples_needed(first["margin_sd"], 0.025)
    assert first["n_needed_power_80"] == samples_needed(first["margin_sd"], 0.025, 0.8)
    assert (second["margin_mean"], second["margin_lo"], second["n_needed_power_80"]) == (-0.25, None, None)


def test_nothing_comes_of_nothing() -> None:
    assert list(margins_by_run([], 500)) == []
