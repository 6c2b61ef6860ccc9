"""The example runs of every era: V1 with size factor, V4 odd cases, V5b with rollouts and letters."""

from pathlib import Path

import pytest

from credit.warehouses import rows

V4 = "00000000-0000-4000-8000-000000000002"
FAILED = "00000000-0000-4000-8000-000000000003"
V5B = "00000000-0000-4000-8000-000000000005"
V1 = "00000000-0000-4000-8000-000000000007"
WORKED = "mini-coder/data/train-00007.parquet:1204:2"


def test_the_worked_example_comes_out_of_the_raw_files(examples: Path) -> None:
    (side,) = rows(
        examples,
        "select score, score_recomputed, earned_weight, uncited_weight, dangling_weight from credit.sides "
        f"where eval_run_id = '{V4}' and sample_id = '{WORKED}' and side = 'king'",
    )
    assert tuple(side.values()) == (1.0, 1.0, 7.75, 2.5, 0.0)
    turns = rows(
        examples,
        "select turn, credit_full, credit_split from credit.turns "
        f"where eval_run_id = '{V4}' and sample_id = '{WORKED}' and side = 'king' order by turn",
    )
    assert {row["turn"]: (row["credit_full"], row["credit_split"]) for row in turns if row["credit_full"]} == {
        1: (2.75, 2.625),
        2: (2.25, 2.125),
        4: (0.5, 0.5),
    }


def test_a_failed_read_is_cited_too_and_a_plural_range_earns_when_extended_forms_count(examples: Path) -> None:
    turns = rows(
        examples,
        "select turn, credit_split, credit_full, credit_split_extended from credit.turns "
        f"where eval_run_id = '{V4}' and sample_id = '{WORKED}' and side = 'challenger' order by turn",
    )
    # q_02 (2.0) cites 3 and 2; q_05 (1.5) cites OUTPUTS 1-3, which strict reading does not see.
    assert [tuple(row.values()) for row in turns] == [
        (1, 0.0, 0.0, 0.5),
        (2, 1.0, 2.0, 1.5),
        (3, 1.0, 2.0, 1.5),
        (4, 0.0, 0.0, 0.0),
    ]


def test_every_scored_side_of_every_era_has_its_score_again(examples: Path) -> None:
    found = rows(
        examples,
        "select eval_run_id, count(*) as n, count(*) filter (where is_score_reproduced) as same from credit.sides "
        "where is_counted group by eval_run_id order by eval_run_id",
    )
    assert [(row["eval_run_id"], row["n"], row["same"]) for row in found] == [(V4, 8, 8), (V5B, 8, 8), (V1, 2, 2)]


@pytest.mark.parametrize(
    ("run", "era", "ruleset", "weights", "state"),
    [
        (V4, "V4", "v4_0821", "v4", "succeeded"),
        (FAILED, "V4", "v4_0821", "v4", "failed"),
        (V5B, "V5b", "v5b", "stamped", "succeeded"),
        (V1, "V1", "v1_0722", "v1", "succeeded"),
    ],
)
def test_every_run_is_judged_by_the_rules_of_its_era(
    examples: Path, run: str, era: str, ruleset: str, weights: str, state: str
) -> None:
    (duel,) = rows(
        examples,
        f"select era, ruleset_id, tag_weights_id, state from credit.duels where eval_run_id = '{run}'",
    )
    assert tuple(duel.values()) == (era, ruleset, weights, state)


def test_rollouts_are_sides_of_their_own_and_one_sample_of_the_margin(examples: Path) -> None:
    (duel,) = rows(
        examples, f"select n_pairs, n_paired_samples, n_task_instances from credit.duels where eval_run_id = '{V5B}'"
    )
    assert tuple(duel.values()) == (4, 2, 2)
    sides = rows(
        examples,
        "select rollout, scoring_line from credit.sides "
        f"where eval_run_id = '{V5B}' and side = 'king' and sample_id like '%00007%' order by rollout",
    )
    assert [row["rollout"] for row in sides] == [1, 2]
    assert sides[0]["scoring_line"] < sides[1]["scoring_line"]


def test_zeroed_sides_stay_in_and_earn_nothing(examples: Path) -> None:
    found = rows(
        examples,
        "select sides.looped_stored, sides.corrupted_stored, sides.looped, sum(turns.credit_split) as credit "
        "from credit.sides inner join credit.turns using (eval_run_id, sample_id, rollout, side) "
        "where sides.zeroed group by all",
    )
    assert found
    assert all(row["credit"] == 0.0 for row in found)
    assert all(row["looped"] for row in found if row["looped_stored"])


def test_a_side_whose_generation_errored_is_a_side_without_a_score(examples: Path) -> None:
    found = rows(
        examples, f"select side, scored, score_reason from credit.sides where eval_run_id = '{V4}' and not scored"
    )
    assert {(row["side"], row["score_reason"]) for row in found} == {
        ("king", "no scoring line"),
        ("challenger", "no scoring line"),
    }
