import random
import re
from typing import Any

import pytest
from assay.validator.documents import (
    candidate_blocks_loose,
    candidate_turns,
    candidate_turns_with_observations,
    format_scored_trajectory,
    scored_contents,
)

FOLLOWS = r"(?=\n+(?:CANDIDATE OUTPUT|ENVIRONMENT OBSERVATION|CONTEXT )[^\n]*:\n------|\Z)"
STRICT = re.compile(r"^CANDIDATE OUTPUT(?: \d+)?:\n------\n(.*?)\n------" + FOLLOWS, re.MULTILINE | re.DOTALL)
LOOSE = re.compile(r"CANDIDATE OUTPUT(?: \d+)?:\n------\n(.*?)\n------", re.DOTALL)
JOINT = re.compile(
    r"^(CANDIDATE OUTPUT(?: \d+)?|ENVIRONMENT OBSERVATION[^\n]*|CONTEXT [^\n]*):\n------\n(.*?)\n------" + FOLLOWS,
    re.MULTILINE | re.DOTALL,
)
PIECES = [
    *("CANDIDATE OUTPUT 1:\n------\n", "CANDIDATE OUTPUT:\n------\n", "CANDIDATE OUTPUT 12:\n", "\n------", "------"),
    *("ENVIRONMENT OBSERVATION (context only, do not score):\n------\n", "CONTEXT USER (do not score):\n------\n"),
    *("\n", "\n\n", " ", "x", "\r\n", ":", "é", "\u2028", "\u00a0", "7", "CONTEXT ", "body text"),
]


def random_texts(count: int, longest: int = 14) -> list[str]:
    generator = random.Random(97)
    return ["".join(generator.choices(PIECES, k=generator.randint(0, longest))) for _ in range(count)]


def literal_turns(text: str) -> list[str]:
    turns = [match.group(1).rstrip() for match in STRICT.finditer(text)]
    return turns or ([text] if text else [])


def literal_joint(text: str) -> tuple[list[str], list[str | None]]:
    turns: list[str] = []
    seen: list[str | None] = []
    for match in JOINT.finditer(text):
        if match.group(1).startswith("CANDIDATE"):
            turns.append(match.group(2).rstrip())
            seen.append(None)
        elif match.group(1).startswith("ENVIRONMENT") and turns and seen[-1] is None:
            seen[-1] = match.group(2).rstrip()
    return (turns, seen) if turns or not text else ([text], [None])


def test_random_documents_split_as_the_written_patterns_say() -> None:
    texts = random_texts(20_000)
    assert sum(1 for text in texts if STRICT.search(text)) > 300
    for text in texts:
        assert candidate_turns(text) == literal_turns(text)
        assert candidate_blocks_loose(text) == [match.group(1) for match in LOOSE.finditer(text)]
        assert candidate_turns_with_observations(text) == literal_joint(text)


def test_a_written_trajectory_splits_back_into_its_turns() -> None:
    turns: list[dict[str, Any]] = [
        {"role": "user", "content": "Mend the gate."},
        {"role": "assistant", "content": "earlier\n------\nwork"},
        {"role": "assistant", "content": "one\n------\ntwo  \n", "score_target": True},
        {"role": "user", "content": "seen", "environment_observation": True},
        {"role": "assistant", "content": "  three", "score_target": True},
    ]
    document = format_scored_trajectory(turns)
    assert document.splitlines()[1].startswith("Score ONLY CANDIDATE OUTPUT 1 through CANDIDATE OUTPUT 2.")
    assert candidate_turns(document) == ["one\n------\ntwo", "  three"]
    assert candidate_turns_with_observations(document) == (["one\n------\ntwo", "  three"], ["seen", None])
    assert candidate_blocks_loose(document) == ["one", "  three"]
    assert scored_contents(turns) == ["one\n------\ntwo  \n", "  three"]


def test_retry_feedback_is_shown_before_the_fifth_version_only() -> None:
    turns = [{"role": "user", "content": "again", "retry_feedback": True}]
    assert "again" in format_scored_trajectory(turns, "v4")
    assert "again" not in format_scored_trajectory(turns, "v5a")


def test_a_scored_user_and_an_observing_assistant_are_context() -> None:
    turns: list[dict[str, Any]] = [
        {"role": "user", "content": "a", "score_target": True},
        {"role": "assistant", "content": "b", "environment_observation": True},
        {"role": None, "content": None},
    ]
    document = format_scored_trajectory(turns)
    labels = [line for line in document.split("\n") if line.startswith("CONTEXT")]
    assert labels == [
        "CONTEXT USER (do not score):",
        "CONTEXT ASSISTANT (do not score):",
        "CONTEXT TURN (do not score):",
    ]


def test_a_newline_after_the_last_rule_defeats_the_last_block() -> None:
    whole = "CANDIDATE OUTPUT 1:\n------\na\n------\n\nCANDIDATE OUTPUT 2:\n------\nb\n------"
    assert candidate_turns(whole) == ["a", "b"]
    assert candidate_turns(whole + "\n") == ["a"]


@pytest.mark.parametrize("nothing", ["", None])
def test_no_text_has_no_turns(nothing: str | None) -> None:
    assert candidate_turns(nothing) == []
    assert candidate_blocks_loose(nothing) == []
    assert candidate_turns_with_observations(nothing) == ([], [])


def test_white_space_alone_is_one_turn() -> None:
    assert candidate_turns(" \n") == [" \n"]


def test_a_candidate_label_inside_a_context_block_stays_inside_for_the_joint_walk() -> None:
    document = "CONTEXT USER (x):\n------\nq\nCANDIDATE OUTPUT 4:\n------\nfake\n------"
    assert candidate_turns(document) == ["fake"]
    assert candidate_turns_with_observations(document) == ([document], [None])
