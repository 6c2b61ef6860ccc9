"""Paired margins of duels with their uncertainty. Source: statistics (Miller 2024, arXiv 2411.00640); contract b.5.

Nothing here counts two scores of one task as independent: replicas are averaged inside their sample, and samples are
resampled by the task instance they come from.
"""

import hashlib
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.errors import AssayError

CONFIDENCE = 0.95
POWER = 0.8
_DRAWS_AT_A_TIME = 2_000_000
_TOO_MANY = 10**15

Doubles = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Pair:
    """One scored line: both sides' scores of a rollout of `sample`; `instance` is the task it comes from."""

    sample: str
    instance: str
    king: float
    challenger: float


@dataclass(frozen=True)
class PairedMargin:
    """Challenger minus king over samples. What the data cannot say is null, never 0: with fewer than two task
    instances the standard error, the interval and the probabilities, without replicas the variance inside a sample.
    """

    n_pairs: int
    n_samples: int
    n_instances: int
    mean: float | None
    standard_deviation: float | None
    within_variance: float | None
    standard_error: float | None
    low: float | None
    high: float | None
    p_beats: float | None
    p_wins: float | None


def paired_margin(
    pairs: Sequence[Pair], seed_text: str, required: float | None, wins_needed: int, replicates: int
) -> PairedMargin:
    """Mean margin, its cluster-robust standard error and percentile bootstrap interval (95 %), clustered by instance.

    `required` is the margin a challenger needs (null: not known, then both probabilities are null). `p_beats` is the
    share of bootstrap means that reach it, `p_wins` that of `wins_needed` independent runs like this one all reaching
    it. The draws follow from `seed_text` alone. Raises `AssayError` for a score that is not between 0 and 1.
    """
    for pair in pairs:
        if not (0 <= pair.king <= 1 and 0 <= pair.challenger <= 1):
            raise AssayError(f"sample {pair.sample} has a score that is not between 0 and 1")
    ordered = sorted(pairs, key=lambda pair: (pair.instance, pair.sample, pair.king, pair.challenger))
    differences: list[float] = []
    instances: list[str] = []
    within: list[float] = []
    for (instance, _), replicas in groupby(ordered, key=lambda pair: (pair.instance, pair.sample)):
        values = [pair.challenger - pair.king for pair in replicas]
        mean = math.fsum(values) / len(values)
        differences.append(mean)
        instances.append(instance)
        if len(values) > 1:
            within.append(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))
    n = len(differences)
    sums, sizes = _by_instance(differences, instances)
    mean_margin = math.fsum(differences) / n if n else None
    deviation = error = low = high = p_beats = p_wins = None
    if mean_margin is not None and n > 1:
        deviation = math.sqrt(math.fsum((value - mean_margin) ** 2 for value in differences) / (n - 1))
    if mean_margin is not None and len(sums) > 1:
        error = _clustered_error(sums, sizes, mean_margin)
        means = bootstrap_means(sums, sizes, seed_text, replicates)
        tail = (1 - CONFIDENCE) / 2
        low, high = (float(value) for value in np.quantile(means, [tail, 1 - tail]))
        if required is not None:
            p_beats = float(np.mean(means >= required))
            p_wins = p_beats**wins_needed
    return PairedMargin(
        n_pairs=len(pairs),
        n_samples=n,
        n_instances=len(sums),
        mean=mean_margin,
        standard_deviation=deviation,
        within_variance=math.fsum(within) / len(within) if within else None,
        standard_error=error,
        low=low,
        high=high,
        p_beats=p_beats,
        p_wins=p_wins,
    )


def _by_instance(differences: Sequence[float], instances: Sequence[str]) -> tuple[Doubles, Doubles]:
    sums: list[float] = []
    sizes: list[float] = []
    for _, group in groupby(zip(instances, differences, strict=True), key=lambda item: item[0]):
        values = [difference for _, difference in group]
        sums.append(math.fsum(values))
        sizes.append(float(len(values)))
    return np.array(sums, np.float64), np.array(sizes, np.float64)


def _clustered_error(sums: Doubles, sizes: Doubles, mean: float) -> float:
    count = len(sums)
    squares = math.fsum(((sums - mean * sizes) ** 2).tolist())
    return math.sqrt(squares * count / (count - 1)) / float(sizes.sum())


def bootstrap_means(sums: Doubles, sizes: Doubles, seed_text: str, replicates: int) -> Doubles:
    """Means of `replicates` resamples of whole clusters, given each cluster's sum and size."""
    generator = np.random.Generator(np.random.PCG64(stable_seed(seed_text)))
    count = len(sums)
    rows = max(1, _DRAWS_AT_A_TIME // count)
    pieces: list[Doubles] = []
    for begin in range(0, replicates, rows):
        # Products of plain uniform draws: their stream is fixed, that of numpy's own integer sampling is not.
        uniform = generator.random((min(rows, replicates - begin), count))
        drawn = np.minimum((uniform * count).astype(np.int64), count - 1)
        pieces.append(sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1))
    return np.concatenate(pieces)


def stable_seed(text: str) -> int:
    """A seed that is the same on every machine and in every process."""
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big")


def samples_needed(standard_deviation: float, margin: float, power: float | None = None) -> int | None:
    """Samples until a 95 % interval is `margin` wide to each side, or, with a `power`, until a true margin of that size
    is found so often: ((z_a + z_b) * standard_deviation / margin) ^ 2, rounded up. Null from `_TOO_MANY` on: a margin
    that asks for so many is no margin. Raises ValueError unless margin > 0.
    """
    if not margin > 0:
        raise ValueError("margin must be above 0")
    quantiles = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2) + (NormalDist().inv_cdf(power) if power else 0.0)
    root = quantiles * standard_deviation / margin
    return math.ceil(root**2) if root < math.sqrt(_TOO_MANY) else None


MARGINS = pa.schema(
    [
        ("eval_run_id", pa.string()),
        ("n_pairs", pa.int64()),
        ("n_paired_samples", pa.int64()),
        ("n_task_instances", pa.int64()),
        ("margin_mean", pa.float64()),
        ("margin_sd", pa.float64()),
        ("margin_within_variance", pa.float64()),
        ("margin_se", pa.float64()),
        ("margin_lo", pa.float64()),
        ("margin_hi", pa.float64()),
        ("p_beats_margin", pa.float64()),
        ("p_enough_wins", pa.float64()),
        ("n_needed_half_width", pa.int64()),
        ("n_needed_power_80", pa.int64()),
    ]
)


def margins_by_run(batches: Iterable[pa.RecordBatch], replicates: int) -> Iterator[pa.RecordBatch]:
    """One row of `MARGINS` a run, from batches in order of run with columns `eval_run_id, required_margin,
    wins_needed, sample_id, task_instance, score_king, score_challenger`.
    """
    rows = (row for batch in batches for row in batch.to_pylist())
    for run, group in groupby(rows, key=lambda row: row["eval_run_id"]):
        values = list(_margin_row(run, list(group), replicates))
        arrays = [pa.array([value], field.type) for value, field in zip(values, MARGINS, strict=True)]
        yield pa.record_batch(arrays, schema=MARGINS)


def _margin_row(run: str, rows: list[dict[str, Any]], replicates: int) -> Iterator[Any]:
    required = rows[0]["required_margin"]
    pairs = [Pair(row["sample_id"], row["task_instance"], row["score_king"], row["score_challenger"]) for row in rows]
    margin = paired_margin(pairs, run, required, rows[0]["wins_needed"] or 1, replicates)
    yield from (run, margin.n_pairs, margin.n_samples, margin.n_instances)
    yield from (margin.mean, margin.standard_deviation, margin.within_variance, margin.standard_error)
    yield from (margin.low, margin.high, margin.p_beats, margin.p_wins)
    known = margin.standard_deviation is not None and required is not None and required > 0
    for power in (None, POWER):
        yield samples_needed(margin.standard_deviation or 0.0, required, power) if known else None
