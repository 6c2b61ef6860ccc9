"""Submission commands, their markers, and sample ids (contract sn97 a.8, b.4)."""

import hashlib
import random
import re
from typing import Literal

from assay.validator.fences import SHELL_FENCE, collapse_space, fenced_blocks, first_tagged_block

SubmissionVariant = Literal["v4", "v5a"]
SampleIdVariant = Literal["v4", "v5b"]

CANONICAL_MARKER = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
FIXED_MARKERS = {
    "canonical": CANONICAL_MARKER,
    "renamed": "FINALIZE_AND_SUBMIT_TASK_OUTPUT",
    "nearmiss": "COMPLETE_TASK_AND_SUBMIT_FINAL_ANSWER",
    "unrelated": "ALBEDO_TASK_DONE_SUBMIT_NOW",
}
NONCE = "nonce"
TAILS = {"bare": "", "gitdiff": " && git add -A && git diff --cached", "patchtxt": " && cat patch.txt"}

_MARKER = "(?:" + "|".join(FIXED_MARKERS.values()) + "|SUBMIT_TASK_[0-9A-F]{8})"
_ANY_MARKER = re.compile(rf"\b{_MARKER}\b")
_ECHOED_MARKER = re.compile(rf"echo {_MARKER}\b")
_SHARD = re.compile(r"^(?:[A-Za-z0-9_][A-Za-z0-9_.-]*/)?data/train-[A-Za-z0-9_.-]*\.parquet$")


def any_marker(text: str | None) -> str | None:
    """Return the first known submission marker in `text` as a whole word, or null."""
    match = _ANY_MARKER.search(text or "")
    return match.group(0) if match else None


def marker_for_nonce(sample_id: str, salt: str) -> str:
    """Return the nonce marker of a sample: 8 upper-case hex digits of sha256 over `salt:sample_id`."""
    digest = hashlib.sha256(f"{salt}:{sample_id}".encode()).hexdigest()
    return f"SUBMIT_TASK_{digest[:8].upper()}"


def command_for(marker: str, tail: str) -> str:
    """Return the submission command of a marker and a tail name (`bare`, `gitdiff`, `patchtxt`).

    Raises ValueError for another tail name.
    """
    if tail not in TAILS:
        raise ValueError(f"unknown tail {tail!r}")
    return f"echo {marker}{TAILS[tail]}"


def assign_submit(sample_id: str, salt: str) -> tuple[str, str]:
    """Return (marker, command) that a sample is assigned by its own seeded generator."""
    generator = random.Random(f"{salt}:{sample_id}")
    name = generator.choice(sorted([*FIXED_MARKERS, NONCE]))
    tail = generator.choice(sorted(TAILS))
    marker = marker_for_nonce(sample_id, salt) if name == NONCE else FIXED_MARKERS[name]
    return marker, command_for(marker, tail)


def marker_from(command: str | None) -> str:
    """Return the marker of a submission command: the word after a leading `echo`, else the canonical marker."""
    words = (command or "").split()
    return words[1] if len(words) >= 2 and words[0] == "echo" else CANONICAL_MARKER


def first_bash_command(text: str | None, variant: SubmissionVariant = "v4") -> str:
    """Return the first shell command of a turn, white space collapsed, or the empty string.

    Fences tagged bash, sh or shell in any case count, bare ones do not; "v5a" also takes a `<…bash…>`
    tagged block that begins before the first such fence.
    """
    fence = next(fenced_blocks(text or "", SHELL_FENCE), None)
    tagged = first_tagged_block(text) if variant == "v5a" else None
    if fence is None or (tagged is not None and tagged[0] < fence[0]):
        fence = tagged
    return collapse_space(fence[1]) if fence else ""


def is_exact_submission(text: str | None, command: str | None, variant: SubmissionVariant = "v4") -> bool:
    """Say whether the first shell command of a turn equals the sample's submission command, white space
    collapsed.
    """
    return bool(command) and first_bash_command(text, variant) == collapse_space(command)


def submits(text: str | None, command: str | None, variant: SubmissionVariant = "v4") -> bool:
    """Say whether a turn submits; without a command of its own a sample takes the canonical marker anywhere."""
    return is_exact_submission(text, command, variant) if command else CANONICAL_MARKER in (text or "")


def begins_with_submission(command: str) -> bool:
    """Say whether a collapsed command starts by echoing any known marker; the loop-v3 check leaves those out."""
    return bool(_ECHOED_MARKER.match(command))


def parse_sample_id(sample_id: str, variant: SampleIdVariant = "v4") -> tuple[str, int, int]:
    """Split a sample id into (shard, row, turn).

    "v5b" first cuts a rollout suffix `#rN`; in "v4" such a suffix is an error. Raises ValueError when a
    part is missing, a number is none, or the shard is not a `data/train-*.parquet` path.
    """
    base = sample_id.partition("#r")[0] if variant == "v5b" else sample_id
    parts = base.rsplit(":", 2)
    if len(parts) != 3 or not _SHARD.match(parts[0]):
        raise ValueError("a sample id is <shard>:<row>:<turn>")
    return parts[0], int(parts[1]), int(parts[2])
