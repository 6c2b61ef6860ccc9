"""On the runs beside the repository every figure and every turn is what an independent implementation computed."""

import json
from pathlib import Path
from typing import Any

import pytest

from credit.test_plain_turns import compare
from credit.warehouses import SHARED, expected_json, rows

COMPARED = ("checks", "input", "corpus", "credit_mix", "escape_mix", "combined")


def leaves(value: Any, path: tuple[str, ...] = ()) -> dict[str, float]:
    if isinstance(value, dict):
        return {name: leaf for key, below in value.items() for name, leaf in leaves(below, (*path, key)).items()}
    return {".".join(path): float(value)}


def figures(published: Path) -> dict[str, float]:
    return {row["name"]: row["value"] for row in rows(published, "select name, value from credit.headlines")}


def expected_figures() -> dict[str, float]:
    published_figures = expected_json("sn97_headlines.json")
    return leaves({section: published_figures[section] for section in COMPARED})


def test_every_expected_figure_is_reproduced(published: Path) -> None:
    ours = figures(published)
    different = {
        name: (value, ours.get(name))
        for name, value in expected_figures().items()
        if name != "checks.max_conservation_error" and (ours.get(name) is None or round(ours[name], 6) != value)
    }
    assert not different
    assert 0 <= ours["checks.max_conservation_error"] <= 1e-9


def mix_figures(published: Path) -> dict[str, float]:
    """The figures of the selections, as rows and turns of the files give them, by the expected names."""
    (credit,), (escapes,), (both,) = (
        rows(published, f"select * from mixes.mix_composition where mix = '{mix}'")
        for mix in ("credit", "escape_duel", "final_v1")
    )
    (statistics,) = rows(published, "select * from mixes.escape_statistics where mix = 'escape_duel'")
    found = {
        "combined.rows": both["n_rows"],
        "combined.train_turns": both["n_train_turns"],
        "credit_mix.rows": credit["n_rows"],
        "credit_mix.train_turns": credit["n_train_turns"],
        "credit_mix.mean_score": credit["mean_score"],
        "credit_mix.recovery_turns": credit["n_recovery_turns"],
        "credit_mix.rows_with_recovery": credit["rows_with_recovery_share"],
        "escape_mix.rows": escapes["n_rows"],
        "escape_mix.unique_samples": escapes["n_samples"],
        "escape_mix.by_fail": statistics["after_failure_share"],
        "escape_mix.by_repeat": statistics["after_repeat_share"],
        "escape_mix.from_rejected_sides": statistics["from_rejected_share"],
        "escape_mix.fail_run_before.mean": statistics["mean_failures_before"],
        "escape_mix.fail_run_before.max": statistics["max_failures_before"],
    }
    for mix, name in (("credit", "credit_mix"), ("escape_duel", "escape_mix")):
        for row in rows(published, f"select * from mixes.mix_commands where mix = '{mix}'"):
            found[f"{name}.kinds.{row['command_kind']}.turns"] = row["n_turns"]
            found[f"{name}.kinds.{row['command_kind']}.share"] = row["share_of_turns"]
    for row in rows(published, "select * from mixes.mix_tags where mix = 'credit'"):
        found[f"credit_mix.earned_tags.{row['tag']}.pairs"] = row["n_pairs"]
        found[f"credit_mix.earned_tags.{row['tag']}.share"] = row["share_of_pairs"]
    return {name: round(float(value), 6) for name, value in found.items()}


# What the gates say of sides before any row is made is a matter of the gates alone.
BEFORE_ROWS = ("after_dedupe", "sides_passing_gates", "recovery_captured_by_gated_sides")


def test_the_files_hold_what_the_selections_are_expected_to_hold(published: Path) -> None:
    expected = {
        name: value
        for name, value in expected_figures().items()
        if name.startswith(("combined.", "credit_mix.", "escape_mix.")) and not name.endswith(BEFORE_ROWS)
    }
    assert mix_figures(published) == expected


def test_there_is_no_figure_that_is_not_expected(published: Path) -> None:
    assert not set(figures(published)) - set(expected_figures())


def test_credit_turns_equal_the_expected_table_turn_by_turn(published: Path) -> None:
    names = {
        "command_kind": "cmd_kind",
        "n_bash_blocks": "n_bash",
        "is_repeat": "repeated",
        "follows_failure": "prev_failed",
    }
    key = ("eval_run_id", "sample_id", "rollout", "side", "turn")
    same = ("failed", "is_escape", "is_recovery", "tags", "credit_split", "credit_full")
    columns = ", ".join((*key, *same, *names))
    ours: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows(published, f"select {columns}, think_state = 'unclosed' as unclosed_think from credit.turns"):
        row = {names.get(name, name): value for name, value in row.items()}
        ours[tuple(row[name] for name in key)] = row
    lines = (SHARED / "expected" / "sn97_turn_credit.jsonl").read_text(encoding="utf-8").splitlines()
    expected = [json.loads(line) for line in lines]
    assert len(expected) == len(ours) == 962
    for row in expected:
        row["side"] = {"previous_king": "king"}.get(row["side"], row["side"])
        found = ours[tuple(row[name] for name in key)]
        for name, value in row.items():
            if name.startswith("credit_"):
                assert found[name] == pytest.approx(value, abs=1e-9), (row, name)
            else:
                assert found[name] == value, (row, name)


def test_every_column_of_the_turns_is_what_a_plain_loop_says(published: Path) -> None:
    assert compare(SHARED / "raw", published) == 576
