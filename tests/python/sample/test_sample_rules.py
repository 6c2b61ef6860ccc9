"""The generator's own copy of the rules, against published vectors where they lie beside the repository."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from assay.sample import rules, sn120
from assay.sample.sn97 import submission

VECTORS = Path(__file__).resolve().parents[4] / "shared" / "conformance"


def vectors(name: str, function: str) -> Iterator[dict[str, Any]]:
    path = VECTORS / name
    if not path.exists():
        pytest.skip("no vectors beside the repository")
    for line in path.read_bytes().split(b"\n"):
        if line and (case := json.loads(line))["fn"] == function:
            yield case


def test_loop_vectors() -> None:
    compared = 0
    for case in vectors("sn97/loop_check.jsonl", "loop_verdict"):
        variant = case["version"].split("/")[0]
        if variant == "loop-v2":
            continue
        limits = case["thresholds"]
        commands = rules.loop_commands(case["input"]["turns"], case["input"].get("observations"), variant)
        verdict = rules.loop_verdict(commands, limits["dup"], limits["run"])
        expected = case["expected"]
        assert bool(verdict) == expected["looped"], case["case"]
        if verdict:
            assert verdict["explanation"] == expected["explanation"]
            assert verdict["commands"] == expected["commands"]
        compared += 1
    assert compared > 50


def test_slice_and_score_vectors() -> None:
    for case in vectors("sn120/strata_and_slice.jsonl", "duel_seed"):
        assert sn120.slice_seed(case["input"]["block_hash"], case["input"]["hotkey"]) == case["expected"]
    for case in vectors("sn120/score_reason_v4.jsonl", "turn_reason"):
        if isinstance(case["expected"], float):
            score = sn120.turn_score(case["input"]["pairs"], case["input"]["tau"])
            assert score == pytest.approx(case["expected"], abs=1e-12)


def test_v1_rate_vectors() -> None:
    compared = 0
    for case in vectors("sn97/aggregate.jsonl", "judge_yes_rate"):
        if not case["version"].startswith("tony"):
            continue
        questions = {q["id"]: q for q in case["input"]["questions"]}
        held = [
            (questions[i]["category"], questions[i]["requires"], float(a))
            for i, a in case["input"]["answers"].items()
            if a is not None
        ]
        assert rules.yes_rate_v1(held) == case["expected"]
        compared += 1
    assert compared


def test_letters_are_linear_between_their_anchors() -> None:
    values = [rules.letter_value(letter) for letter in rules.LETTERS]
    assert [values[i] for i in (0, 4, 9, 14, 19)] == [0.0, 0.15, 0.35, 0.70, 1.0]
    assert rules.letter_value("C") == pytest.approx(0.075) and rules.letter_value("P") == pytest.approx(0.76)
    assert values == sorted(values)


def test_rates_round_half_to_even_on_the_binary_value() -> None:
    assert rules.yes_rate([(2.0, 1.0), (0.5, 0.0), (1.5, 1.0)]) == 0.875
    assert rules.yes_rate([(0.0, 1.0), (0.0, 0.0)]) == 0.5
    assert rules.yes_rate([]) is None
    assert rules.round6(0.0000005) == 0.0 and rules.round6(2.5000005) == round(2.5000005, 6)


def test_zeroing_knows_only_the_rules_of_its_time() -> None:
    text = f"x {rules.TOKEN_LIMIT_SENTINEL} <|im_end|> {rules.ABANDON_SENTINEL}"
    assert rules.corruption(text, truncated=False, abandoned=False, reserved=False) is None
    assert rules.corruption(text, truncated=True, abandoned=True, reserved=True) == ("output truncated mid-generation")
    assert str(rules.corruption(text, truncated=False, abandoned=True, reserved=True)).startswith("turn unusable")
    assert rules.corruption(text, truncated=False, abandoned=False, reserved=True) == (
        "reserved template token in output: <|im_end|>"
    )


def test_submission_markers_depend_on_the_salt_and_cover_the_kinds() -> None:
    drawn = [submission(f"0x{n}", "mini-coder/data/train-00001.parquet:1:2", True) for n in range(300)]
    assert {mode for _, _, mode in drawn} == {"original", "failed", "replaced", "added", "replaced_command_only"}
    assert {command.split(" && ", 1)[-1] for _, command, _ in drawn if " && " in command} == {
        "git add -A && git diff --cached",
        "cat patch.txt",
    }
    assert any(marker.startswith("SUBMIT_TASK_") for marker, _, _ in drawn)
    assert 0.15 < sum(mode == "original" for _, _, mode in drawn) / 300 < 0.35
