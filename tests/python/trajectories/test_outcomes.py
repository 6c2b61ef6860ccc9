"""What an observation says. Source: contract sn97 b.3, definitions (failed observation)."""

import pytest
from assay.trajectories.outcomes import outcome
from assay.trajectories.think import think_state
from assay.validator.sentinels import think_is_open

TRAILERS = "x\n[The command completed with exit code {}.]\n[Command finished with exit code {}]"
OK = "<returncode>0</returncode>\n<output>\nTraceback (most recent call last)\n</output>"


@pytest.mark.parametrize(
    ("observation", "observation_format", "returncode", "failed", "reason"),
    [
        (OK, "returncode", 0, False, None),
        ("<returncode>2</returncode>\n<output>\nx\n</output>", "returncode", 2, True, "returncode"),
        ("<returncode>-9</returncode>\n<output>\nKilled\n</output>", "returncode", -9, True, "returncode"),
        ("<returncode></returncode>\n<output>\nfine\n</output>", "returncode", None, False, None),
        ("<returncode></returncode>\n<output>\nfatal: no\n</output>", "returncode", None, True, "error_shape"),
        (TRAILERS.format(0, 0), "openhands", 0, False, None),
        (TRAILERS.format(0, 3), "openhands", 3, True, "returncode"),
        ("x\n[The command timed out after 30 seconds.]", "openhands", None, True, "timed_out"),
        ("exit code 1 is what it printed", "openhands", None, False, None),
        ("No bash command found in assistant message.", "openhands", None, True, "no_command"),
        ("OBSERVATION:\nall good", "swe_agent", None, False, None),
        ("OBSERVATION:\nbash: foo: command not found", "swe_agent", None, True, "error_shape"),
        ("OBSERVATION:\nfine\nerror: not in the first or last line\nfine", "swe_agent", None, False, None),
        ("OBSERVATION:\nfine\n\nerror: last line\n\n", "swe_agent", None, True, "error_shape"),
        ("OBSERVATION:\nTRACEBACK (MOST RECENT CALL LAST)", "swe_agent", None, False, None),
        ("", "openhands", None, False, None),
        ("<returncode>99999999999999999999</returncode>", "returncode", None, False, None),
    ],
)
def test_an_observation_is_read_by_its_own_format(
    observation: str, observation_format: str, returncode: int | None, failed: bool, reason: str | None
) -> None:
    seen = outcome(observation)
    assert (seen.observation_format, seen.returncode, seen.failed, seen.fail_reason) == (
        observation_format,
        returncode,
        failed,
        reason,
    )


def test_grep_that_finds_nothing_fails_for_a_reason_of_its_own() -> None:
    nothing = "<returncode>1</returncode>\n<output>\n</output>"
    assert outcome(nothing, "grep -r").fail_reason == "no_match"
    assert outcome(nothing, "cat").fail_reason == "returncode"


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("no tag", "none"),
        ("<think>a</think>b", "closed"),
        ("a</think>b", "close_only"),
        ("<think>a", "unclosed"),
        ("<think>a</think>b<think>c", "unclosed"),
        ("<think>a<think>b</think>c", "nested"),
        ("use ```\n<think>\n``` here", "none"),
        ("< Think >a</ THINK >", "closed"),
        ("a</think>b<think>c</think>", "close_only"),
    ],
)
def test_think_tags_are_one_state(text: str, state: str) -> None:
    assert think_state(text) == state
    assert (state == "unclosed") == think_is_open(text)
