"""What odd and broken runs come to: nothing is guessed, nothing dropped silently, nothing unknown passes a gate."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from credit.warehouses import RunDbt, build, rows

ODD = "00000000-0000-4000-8000-00000000000a"
BARE = "00000000-0000-4000-8000-00000000000b"
MIRROR = "00000000-0000-4000-8000-00000000000c"
FAILED = "00000000-0000-4000-8000-00000000000d"
HUGE = "00000000-0000-4000-8000-00000000000e"


def sample(number: int) -> str:
    return f"mini-coder/data/train-00001.parquet:{number}:1"


def turn(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text, "score_target": True}


def observation(text: str) -> dict[str, Any]:
    wrapped = f"<returncode>0</returncode>\n<output>\n{text}\n</output>"
    return {"role": "user", "content": wrapped, "environment_observation": True}


TASK = [{"role": "system", "content": "You are an agent."}, {"role": "user", "content": "Repair it."}]
READS = [*TASK, turn("Read.\n```bash\ncat a.py\n```"), observation("x = 1"), turn("Look.\n```bash\nls\n```")]
PROSE = [*TASK, turn("I only think."), turn("And think.")]


def generated(run: str, number: int, king: list[dict[str, Any]], challenger: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "chal_error": None, "challenger_turns": challenger, "eval_run_id": run, "king_error": None,
        "previous_king_turns": king, "prompt": "p", "rewrite_mode": "original", "sample_id": sample(number),
        "submit_command": "", "submit_marker": "",
    }  # fmt: skip


def judged(side: str, answers: Mapping[str, str | None], explanation: str) -> dict[str, Any]:
    return {
        "answers": answers, "error": None, "explanations": dict.fromkeys(answers, explanation),
        "judge_model": "judge", "parse_ok": True, "provider": "p", "side": side, "yes_rate": None,
    }  # fmt: skip


def scored(number: int, answers: Mapping[str, str | None], explanation: str, **changes: Any) -> dict[str, Any]:
    questions = [
        {"id": question, "text": f"Is {question} so?", "requires": "read", "tag": "reference:explore"}
        for question in answers
    ]
    line = {
        "chal_amputated_thinking": False, "challenger_score": 1.0, "king_amputated_thinking": False, "king_score": 1.0,
        "judge_results": [judged(side, answers, explanation) for side in ("previous_king", "challenger")],
        "question_source": {"pruned_out": 0, "sample_phase": "cold"}, "questions": questions,
        "sample_id": sample(number), "scored": True, "scoring_mode": "binary",
    }  # fmt: skip
    return {**line, **changes}


def write(root: Path, run: str, **files: Any) -> None:
    folder = root / "sn97" / "runs" / run
    folder.mkdir(parents=True)
    for name, content in files.items():
        name = name.replace("_", "-")
        if isinstance(content, list):
            text = "".join(json.dumps(line, sort_keys=True) + "\n" for line in content)
            (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
        else:
            (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")


def verdict(run: str, state: str = "succeeded") -> dict[str, Any]:
    return {"type": "verdict", "eval_run_id": run, "state": state, "artifacts": {}}


def request(run: str, king: str, challenger: str) -> dict[str, Any]:
    return {
        "eval_run_id": run, "submission_id": run, "previous_king": {"model_uri": king},
        "challenger": {"model_uri": challenger}, "dataset": {"sample_count": 1}, "scoring": {},
    }  # fmt: skip


@pytest.fixture(scope="module")
def warehouse(run_dbt: RunDbt, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("odd")
    root = folder / "raw"
    yes, no, silent = {"q_01": "1"}, {"q_01": "0"}, {"q_01": None, "q_02": None}
    write(
        root,
        ODD,
        verdict=verdict(ODD),
        generated_samples=[
            generated(ODD, 1, TASK, PROSE),
            generated(ODD, 2, READS, PROSE),
            generated(ODD, 3, READS, READS),
            generated(ODD, 4, READS, READS),
            generated(ODD, 4, PROSE, PROSE),
            generated(ODD, 5, READS, READS),
            generated(ODD, 6, READS, READS),
            generated(ODD, 7, READS, READS),
        ],
        scoring_results=[
            scored(1, {}, "", king_score=0.5, challenger_score=0.5),
            scored(2, silent, "", king_score=None, challenger_score=None),
            scored(3, yes, "CANDIDATE OUTPUT 99 shows it."),
            scored(4, yes, "CANDIDATE OUTPUT 1 shows it."),
            scored(4, no, "CANDIDATE OUTPUT 2 does not.", king_score=0.0, challenger_score=0.0),
            scored(5, yes, "CANDIDATE OUTPUT 1 shows it.", scored=False),
            scored(6, yes, "CANDIDATE OUTPUT 1 shows it.", king_score=float("nan")),
            scored(7, yes, "CANDIDATE OUTPUT 1 shows it.", challenger_score=float("inf")),
        ],
    )
    write(root, BARE, verdict=verdict(BARE))
    write(
        root,
        MIRROR,
        verdict=verdict(MIRROR),
        request=request(MIRROR, "hf://m/one@1", "hf://m/one@1"),
        generated_samples=[generated(MIRROR, 1, READS, READS)],
        scoring_results=[scored(1, yes, "CANDIDATE OUTPUT 1 shows it.")],
    )
    write(
        root,
        FAILED,
        verdict=verdict(FAILED, "failed"),
        generated_samples=[generated(FAILED, 1, READS, READS)],
        scoring_results=[scored(1, yes, "CANDIDATE OUTPUT 1 shows it.")],
    )
    write(
        root,
        HUGE,
        verdict={
            **verdict(HUGE), "required_win_margin": 1e-12, "score_king": -1.7e308, "score_challenger": 1.7e308,
        },
        generated_samples=[generated(HUGE, number, READS, READS) for number in (1, 2, 3, 4)],
        scoring_results=[
            scored(1, yes, "CANDIDATE OUTPUT 1 shows it.", king_score=1e200),
            scored(2, yes, "CANDIDATE OUTPUT 1 shows it.", king_score=-1e308, challenger_score=1e308),
            scored(3, yes, "CANDIDATE OUTPUT 1 shows it."),
            scored(
                4, yes, "", king_score=0.0,
                judge_results=[judged("previous_king", no, ""), judged("challenger", yes, "")],
            ),
        ],
    )  # fmt: skip
    yield build(run_dbt, folder, root)


def side(warehouse: Path, number: int, name: str = "king", run: str = ODD) -> dict[str, Any]:
    (row,) = rows(
        warehouse,
        "select * from credit.sides "
        f"where eval_run_id = '{run}' and sample_id = '{sample(number)}' and side = '{name}'",
    )
    return row


def verdicts(warehouse: Path, number: int, name: str = "king", run: str = ODD) -> dict[str, tuple[str, str | None]]:
    found = rows(
        warehouse,
        "select gate, verdict, reason from gates.side_gates "
        f"where eval_run_id = '{run}' and sample_id = '{sample(number)}' and side = '{name}'",
    )
    return {row["gate"]: (row["verdict"], row["reason"]) for row in found}


def test_a_side_without_turns_has_no_credit_and_its_share_of_duplicates_is_unknown(warehouse: Path) -> None:
    row = side(warehouse, 1)
    assert (row["n_turns"], row["n_cmds"], row["max_cmd_run"], row["earned_weight"]) == (0, 0, 0, 0.0)
    assert verdicts(warehouse, 1)["dup_cmd_ratio"] == ("unknown", "no commands: the share is 0 of 0")
    assert not rows(
        warehouse,
        f"select 1 from credit.turns where eval_run_id = '{ODD}' and sample_id = '{sample(1)}' and side = 'king'",
    )


def test_a_side_without_commands_has_turns_of_kind_none_that_repeat_nothing(warehouse: Path) -> None:
    found = rows(
        warehouse,
        "select turn, command, command_kind, is_repeat, repeats_before, failed from credit.turns "
        f"where eval_run_id = '{ODD}' and sample_id = '{sample(1)}' order by turn",
    )
    assert [tuple(row.values()) for row in found] == [
        (1, None, "none", False, 0, None),
        (2, None, "none", False, 0, None),
    ]
    assert verdicts(warehouse, 1, "challenger")["dup_cmd_ratio"][0] == "unknown"


def test_a_line_without_questions_keeps_its_scores_and_says_that_they_cannot_be_recomputed(warehouse: Path) -> None:
    row = side(warehouse, 1)
    assert (row["score"], row["score_recomputed"], row["score_reason"]) == (0.5, None, "no questions")
    assert (row["n_questions"], row["is_counted"]) == (0, True)


def test_answers_that_are_all_null_earn_nothing_and_leave_the_score_unknown(warehouse: Path) -> None:
    row = side(warehouse, 2)
    assert (row["score"], row["score_recomputed"], row["earned_weight"]) == (None, None, 0.0)
    assert row["score_reason"] == "no question was answered"
    assert verdicts(warehouse, 2)["score"] == ("unknown", "no stored score between 0 and 1")
    (passes,) = rows(
        warehouse,
        f"select passes, n_unknown from gates.credit_mix_sides where eval_run_id = '{ODD}' "
        f"and sample_id = '{sample(2)}' and side = 'king'",
    )
    assert passes == {"passes": False, "n_unknown": 1}


def test_a_citation_to_turn_99_dangles_and_its_weight_is_earned_but_on_no_turn(warehouse: Path) -> None:
    row = side(warehouse, 3)
    assert (row["earned_weight"], row["uncited_weight"], row["dangling_weight"]) == (2.0, 2.0, 2.0)
    (citation,) = rows(
        warehouse,
        f"select turn, valid, share from credit.citations where eval_run_id = '{ODD}' "
        f"and sample_id = '{sample(3)}' and side = 'king'",
    )
    assert citation == {"turn": 99, "valid": False, "share": 0.0}
    (credit,) = rows(
        warehouse,
        "select sum(credit_split) as credit from credit.turns "
        f"where eval_run_id = '{ODD}' and sample_id = '{sample(3)}'",
    )
    assert credit["credit"] == 0.0


def test_of_two_lines_for_one_key_the_first_counts_and_the_second_is_listed(warehouse: Path) -> None:
    row = side(warehouse, 4)
    assert (row["line"], row["scoring_line"], row["score"], row["n_turns"], row["n_cmds"]) == (4, 4, 1.0, 2, 2)
    listed = rows(warehouse, "select kind, line, reason from credit.duplicate_lines order by kind")
    assert listed == [
        {"kind": "generated_samples", "line": 5, "reason": "an earlier line has the same sample and rollout"},
        {"kind": "scoring_results", "line": 5, "reason": "more scoring lines than rollouts of the sample"},
    ]


def test_a_line_that_is_not_scored_keeps_its_scores_and_counts_for_nothing(warehouse: Path) -> None:
    row = side(warehouse, 5)
    assert (row["scored"], row["is_counted"], row["score"], row["earned_weight"]) == (False, False, 1.0, 0.0)
    assert not rows(warehouse, f"select 1 from credit.turns where eval_run_id = '{ODD}' and sample_id = '{sample(5)}'")
    assert verdicts(warehouse, 5)["scored"][0] == "fail"
    (duel,) = rows(warehouse, f"select n_scored, n_pairs from credit.duels where eval_run_id = '{ODD}'")
    assert duel == {"n_scored": 4, "n_pairs": 3}


@pytest.mark.parametrize("number", [6, 7])
def test_nan_and_infinity_are_refused_on_the_way_in_and_leave_the_sample_unscored(warehouse: Path, number: int) -> None:
    refused = rows(warehouse, f"select reason from staging.quarantine where line = {number + 1}")
    assert refused == [{"reason": "non_finite_number"}]
    row = side(warehouse, number)
    assert (row["scored"], row["score"], row["score_reason"]) == (False, None, "no scoring line")
    assert verdicts(warehouse, number)["score"][0] == "unknown"


def test_a_score_that_no_rule_gives_is_none_and_a_margin_of_nearly_nothing_needs_no_number(warehouse: Path) -> None:
    for number, names in ((1, ["king"]), (2, ["king", "challenger"])):
        for name in names:
            row = side(warehouse, number, name, HUGE)
            assert (row["score"], row["score_recomputed"]) == (None, 1.0)
            assert row["score_reason"] == "no stored score between 0 and 1"
            assert verdicts(warehouse, number, name, HUGE)["score"] == ("unknown", "no stored score between 0 and 1")
    (duel,) = rows(warehouse, f"select * from credit.duels where eval_run_id = '{HUGE}'")
    assert (duel["margin"], duel["n_pairs"], duel["margin_mean"]) == (None, 2, 0.5)
    assert (duel["n_needed_half_width"], duel["n_needed_power_80"]) == (None, None)


def test_a_run_with_a_verdict_and_no_samples_is_a_duel_without_sides(warehouse: Path) -> None:
    (duel,) = rows(
        warehouse,
        "select state, is_counted, n_samples, n_pairs, margin_mean, margin_lo, p_beats_margin, ruleset_id "
        f"from credit.duels where eval_run_id = '{BARE}'",
    )
    assert tuple(duel.values()) == ("succeeded", True, 0, 0, None, None, None, None)
    assert not rows(warehouse, f"select 1 from credit.sides where eval_run_id = '{BARE}'")


def test_one_model_on_both_sides_is_two_sides_with_a_margin_of_0_and_no_interval(warehouse: Path) -> None:
    (duel,) = rows(
        warehouse,
        "select is_same_model, n_pairs, margin_mean, margin_se, margin_lo, margin_hi "
        f"from credit.duels where eval_run_id = '{MIRROR}'",
    )
    assert tuple(duel.values()) == (True, 1, 0.0, None, None, None)
    found = rows(
        warehouse,
        "select side, sum(credit_split) as credit from credit.turns "
        f"where eval_run_id = '{MIRROR}' group by side order by side",
    )
    assert found == [{"side": "challenger", "credit": 2.0}, {"side": "king", "credit": 2.0}]


def test_a_failed_run_is_kept_and_flagged_and_left_out_of_credit_and_mixes(warehouse: Path) -> None:
    row = side(warehouse, 1, run=FAILED)
    assert (row["run_state"], row["scored"], row["is_counted"], row["earned_weight"]) == ("failed", True, False, 0.0)
    assert verdicts(warehouse, 1, run=FAILED)["run_succeeded"][0] == "fail"
    for table in ("credit.turns", "gates.turn_gates", "gates.credit_mix_sides"):
        assert not rows(warehouse, f"select 1 from {table} where eval_run_id = '{FAILED}'")


def test_every_number_that_a_person_reads_is_finite_or_null(warehouse: Path) -> None:
    columns = rows(
        warehouse,
        "select table_schema as schema, table_name as name, column_name as column from information_schema.columns "
        "where table_schema in ('credit', 'gates', 'mixes') and data_type = 'DOUBLE'",
    )
    assert len(columns) > 50
    odd = [
        column
        for column in columns
        if rows(warehouse, 'select 1 from {schema}.{name} where not isfinite("{column}") limit 1'.format(**column))
    ]
    assert not odd


def test_without_duels_every_table_is_there_and_empty(run_dbt: RunDbt, tmp_path: Path) -> None:
    (tmp_path / "raw").mkdir()
    warehouse = build(run_dbt, tmp_path, tmp_path / "raw", data_tests=False)
    tables = rows(
        warehouse,
        "select table_schema as schema, table_name as name from information_schema.tables "
        "where table_schema in ('credit', 'gates', 'mixes')",
    )
    # These name every mix, gate or class of failure; their counts are 0.
    counts = {"drop_ledger": "rows + turns", "mix_composition": "n_rows", "escape_statistics": "n_rows"}
    counts |= {"mix_coverage": "n_failures + n_rows", "pair_ledger": "pairs"}
    for table in [table for table in tables if table["name"] in counts]:
        column = counts[table["name"]]
        assert rows(warehouse, "select sum({}) as n from {schema}.{name}".format(column, **table)) == [{"n": 0}]
    tables = [table for table in tables if table["name"] not in counts]
    assert {"duels", "sides", "turns", "headlines", "side_gates", "turn_gates"} <= {table["name"] for table in tables}
    assert [table for table in tables if rows(warehouse, "select 1 from {schema}.{name} limit 1".format(**table))] == []
