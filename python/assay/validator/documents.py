"""The judged document of a side: how it is written and how it is split again (contract sn97 a.7)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from assay.validator.searching import search

DocumentVariant = Literal["v4", "v5a"]

_RULE = "------"
_LINE_OF_RULE = "\n" + _RULE
_FOLLOWING_LABEL = r"(?=\n+(?:CANDIDATE OUTPUT|ENVIRONMENT OBSERVATION|CONTEXT )[^\n]*:\n------|\Z)"
# A block ends at the first rule line that a label (or the very end of the text) follows. The end does not
# depend on where the block began, so opening and end are searched one after the other and the whole stays
# linear.
_BLOCK_END = re.compile(r"\n------" + _FOLLOWING_LABEL)
_CANDIDATE = "CANDIDATE OUTPUT"
_CANDIDATE_OPENING = re.compile(r"^CANDIDATE OUTPUT(?: \d+)?:\n------\n", re.MULTILINE)
_ANY_OPENING = re.compile(
    r"^(CANDIDATE OUTPUT(?: \d+)?|ENVIRONMENT OBSERVATION[^\n]*|CONTEXT [^\n]*):\n------\n", re.MULTILINE
)
_LOOSE_OPENING = re.compile(r"CANDIDATE OUTPUT(?: \d+)?:\n------\n")


def _blocks(document: str, opening: re.Pattern[str], beginning: str = "") -> Iterator[tuple[str, str]]:
    position = 0
    while head := search(opening, beginning, document, position) if beginning else opening.search(document, position):
        end = search(_BLOCK_END, _LINE_OF_RULE, document, head.end())
        if end is None:
            return
        yield head.group(0), document[head.end() : end.start()].rstrip()
        position = end.end()


def candidate_turns(document: str | None) -> list[str]:
    """Split a judged document strictly into its candidate outputs, each right-stripped.

    A document without a single block is one turn as a whole; an empty or null one has none.
    """
    text = document or ""
    turns = [body for _, body in _blocks(text, _CANDIDATE_OPENING, _CANDIDATE)]
    return turns or ([text] if text else [])


def candidate_blocks_loose(document: str | None) -> list[str]:
    """Split loosely: a block ends at the first line that starts with six dashes; nothing is stripped."""
    text = document or ""
    blocks: list[str] = []
    position = 0
    while head := search(_LOOSE_OPENING, _CANDIDATE, text, position):
        end = text.find(_LINE_OF_RULE, head.end())
        if end < 0:
            break
        blocks.append(text[head.end() : end])
        position = end + len(_LINE_OF_RULE)
    return blocks


def candidate_turns_with_observations(document: str | None) -> tuple[list[str], list[str | None]]:
    """Split strictly into candidate outputs and, index for index, the observation each received.

    The first environment observation after a candidate output is its own; later ones before the next
    candidate output are ignored, and null stands where there is none. Context blocks are walked over as
    blocks too, so a label inside one is not taken for a candidate.
    """
    text = document or ""
    turns: list[str] = []
    observations: list[str | None] = []
    for label, body in _blocks(text, _ANY_OPENING):
        if label.startswith(_CANDIDATE):
            turns.append(body)
            observations.append(None)
        elif label.startswith("ENVIRONMENT OBSERVATION") and turns and observations[-1] is None:
            observations[-1] = body
    if turns or not text:
        return turns, observations
    return [text], [None]


def is_scored(turn: Mapping[str, Any]) -> bool:
    """Say whether a turn object is a scored assistant turn."""
    return turn.get("role") == "assistant" and bool(turn.get("score_target"))


def scored_contents(turns: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the contents of the scored turns in order; null content is the empty string."""
    return [str(turn.get("content") or "") for turn in turns if is_scored(turn)]


def format_scored_trajectory(turns: Sequence[Mapping[str, Any]], variant: DocumentVariant = "v4") -> str:
    """Write the judged document of a side from its turn objects.

    From V5a on, turns marked `retry_feedback` are left out first.
    """
    shown = [turn for turn in turns if variant == "v4" or not turn.get("retry_feedback")]
    count = sum(1 for turn in shown if is_scored(turn))
    target = "CANDIDATE OUTPUT" if count == 1 else f"CANDIDATE OUTPUT 1 through CANDIDATE OUTPUT {count}"
    lines = [
        "FULL CANDIDATE TRAJECTORY",
        f"Score ONLY {target}. The ENVIRONMENT OBSERVATION is context only.",
    ]
    number = 0
    for turn in shown:
        role = str(turn.get("role") or "")
        if is_scored(turn):
            number += 1
            label = f"CANDIDATE OUTPUT {number}"
        elif role == "user" and turn.get("environment_observation"):
            label = "ENVIRONMENT OBSERVATION (context only, do not score)"
        else:
            label = f"CONTEXT {role.upper() or 'TURN'} (do not score)"
        content = str(turn.get("content") or "").rstrip()
        lines.append(f"\n{label}:\n{_RULE}\n{content}\n{_RULE}")
    return "\n".join(lines).strip()
