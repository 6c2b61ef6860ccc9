"""The validator rules the generator needs, kept apart from `assay.validator` so that each checks the other.

Everything here is a pure function of texts and numbers; the sections named are those of the SN97 artifact
contract (a: files, b: rules).
"""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

Turn = dict[str, Any]

CANONICAL_MARKER = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
MARKERS = {
    "canonical": CANONICAL_MARKER,
    "nearmiss": "COMPLETE_TASK_AND_SUBMIT_FINAL_ANSWER",
    "renamed": "FINALIZE_AND_SUBMIT_TASK_OUTPUT",
    "unrelated": "ALBEDO_TASK_DONE_SUBMIT_NOW",
}
TAILS = {"bare": "", "gitdiff": " && git add -A && git diff --cached", "patchtxt": " && cat patch.txt"}

RESERVED_TOKENS = (
    "<|im_start|>",
    "<|im_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|image_pad|>",
    "<|video_pad|>",
    "<|endoftext|>",
    "<tool_call>",
    "</tool_call>",
    "<function=",
    "<tool_response>",
    "</tool_response>",
)
TOKEN_LIMIT_SENTINEL = "MODEL_RESPONSE_TOKEN_LIMIT_EXCEEDED"
ABANDON_SENTINEL = "CONSECUTIVE_BAD_TURNS_LIMIT_EXCEEDED"
NO_COMMAND = "No bash command found in assistant message."

TAG_WEIGHTS_V4 = {
    "reference:explore": 2.0,
    "reference:action": 2.0,
    "reference:claims": 1.5,
    "reference:economy": 1.0,
    "reference:grounding": 0.5,
    "reference:verification": 0.5,
    "behavior:anchored_edit": 0.25,
}
TAG_WEIGHTS_V5B = dict.fromkeys(
    ("reference:explore", "reference:action", "reference:claims", "reference:verification"), 1.0
)
REQUIRES_WEIGHTS = {"action": 2.0, "read": 0.75, "neutral": 0.25}

# Contract b.5: five anchors, straight lines between them.
LETTERS = "ABCDEFGHIJKLMNOPQRST"
_ANCHORS = ((0, 0.0), (4, 0.15), (9, 0.35), (14, 0.70), (19, 1.0))


def letter_value(letter: str) -> float:
    """Value of one graded letter, 0 for A to 1 for T (contract b.5)."""
    index = LETTERS.index(letter)
    for (left, low), (right, high) in pairwise(_ANCHORS):
        if left <= index <= right:
            return low + (high - low) * (index - left) / (right - left)
    raise ValueError(letter)


# ---- document (a.7)


def render_document(turns: Sequence[Turn], *, drop_feedback: bool = False) -> str:
    """The judged text of one side (contract a.7); `drop_feedback` leaves out retry messages (V5a on)."""
    if drop_feedback:
        turns = [turn for turn in turns if not turn.get("retry_feedback")]
    scored = sum(1 for turn in turns if turn.get("score_target"))
    label = "CANDIDATE OUTPUT" if scored == 1 else f"CANDIDATE OUTPUT 1 through CANDIDATE OUTPUT {scored}"
    parts = [f"FULL CANDIDATE TRAJECTORY\nScore ONLY {label}. The ENVIRONMENT OBSERVATION is context only."]
    number = 0
    for turn in turns:
        role = turn.get("role")
        if turn.get("score_target"):
            number += 1
            head = f"CANDIDATE OUTPUT {number}"
        elif turn.get("environment_observation"):
            head = "ENVIRONMENT OBSERVATION (context only, do not score)"
        else:
            head = f"CONTEXT {role.upper()} (do not score)" if role else "CONTEXT TURN (do not score)"
        parts.append(f"\n\n{head}:\n------\n{turn['content'].rstrip()}\n------")
    return "".join(parts).strip()


_STRICT = re.compile(
    r"^CANDIDATE OUTPUT(?: \d+)?:\n------\n(.*?)\n------"
    r"(?=\n+(?:CANDIDATE OUTPUT|ENVIRONMENT OBSERVATION|CONTEXT )[^\n]*:\n------|\Z)",
    re.MULTILINE | re.DOTALL,
)
_LOOSE = re.compile(r"CANDIDATE OUTPUT(?: \d+)?:\n------\n(.*?)\n------", re.DOTALL)


def strict_blocks(document: str) -> list[str]:
    """Candidate blocks as the loop check splits them; a text without any is one block, an empty one none."""
    blocks = [match.rstrip() for match in _STRICT.findall(document)]
    return blocks or ([document] if document else [])


def loose_blocks(document: str) -> list[str]:
    """Candidate blocks as the measurements split them."""
    return _LOOSE.findall(document)


# ---- loop check (b.1)

_COMMANDS_V1 = re.compile(r"```(?:bash|sh)?\s*\n(.*?)```", re.DOTALL)
_COMMANDS_V2 = re.compile(
    r"```(?:bash|sh|shell)[ \t]*\n(.*?)```|<([a-z_]*bash[a-z_]*)>(.*?)</\2>", re.DOTALL | re.IGNORECASE
)
_SUBMIT_START = re.compile(
    r"echo (?:" + "|".join(re.escape(m) for m in MARKERS.values()) + r"|SUBMIT_TASK_[0-9A-F]{8})(?!\w)"
)


def collapse(command: str) -> str:
    """White-space runs become one space, ends trimmed."""
    return " ".join(command.split())


def commands_v1(text: str) -> list[str]:
    """All commands of one block under loop-v1, traps included."""
    return [collapse(match) for match in _COMMANDS_V1.findall(text)]


def commands_v3(text: str) -> list[str]:
    """All commands of one block under loop-v3: fenced or tagged, submissions removed."""
    found = [collapse(fenced or tagged) for fenced, _, tagged in _COMMANDS_V2.findall(text)]
    return [command for command in found if not _SUBMIT_START.match(command)]


_PRINTS_NOTHING = re.compile(
    r"(?:cd|rm|mkdir|mv|cp|touch|export|chmod|true|git add)\b|sed (?:-i|--in-place)"
    r"|[^'\"]*(?<![0-9&])>{1,2} *[\w./]"
)


def _silent_by_nature(command: str) -> bool:
    stages = re.split(r"&&|\|\||;|\n", re.sub(r"'[^']*'|\"[^\"]*\"", "Q", command))
    return all(_PRINTS_NOTHING.match(stage.strip()) for stage in stages if stage.strip())


def _unanswered(commands: Sequence[str], body: str | None) -> bool:
    if body is None or not commands:
        return False
    stripped = re.sub(r"^```\w*\n(.*)\n```$", r"\1", body.strip(), flags=re.DOTALL)
    if collapse(stripped) == commands[-1]:
        return True
    if re.match(r"THOUGHT:|### (?:assistant|user|system)", body) or re.search(
        r"```bash\n.*\n```\s*\Z", body, re.DOTALL
    ):
        return True
    silent = (
        not body.strip()
        or body.strip() == "Your command ran successfully and did not produce any output."
        or re.fullmatch(r"[\d\s]+", body) is not None
    )
    return silent and not _silent_by_nature(commands[-1])


def loop_commands(blocks: Sequence[str], bodies: Sequence[str | None] | None, variant: str) -> list[str]:
    """The commands that count, in order. `bodies` are the observation bodies, one a block (loop-v3 alone)."""
    if variant == "loop-v1":
        return [command for block in blocks for command in commands_v1(block)]
    counted: list[str] = []
    previous: list[str] = []
    previous_body: str | None = None
    for index, block in enumerate(blocks):
        commands = commands_v3(block)
        if not (commands and commands == previous and _unanswered(previous, previous_body)):
            counted.extend(commands)
        previous = commands
        previous_body = bodies[index] if bodies is not None else None
    return counted


def loop_numbers(commands: Sequence[str]) -> tuple[float, int]:
    """(dup_cmd_ratio, max_cmd_run) of a command list."""
    if not commands:
        return 0.0, 0
    longest = run = 1
    for left, right in pairwise(commands):
        run = run + 1 if left == right else 1
        longest = max(longest, run)
    return 1 - len(set(commands)) / len(commands), longest


def loop_verdict(commands: Sequence[str], ratio_limit: float, run_limit: int) -> dict[str, Any] | None:
    """None when not looped; else `reasons`, `commands` and the `explanation` stored for every question."""
    ratio, longest = loop_numbers(commands)
    reasons = []
    if commands and ratio >= ratio_limit:
        reasons.append(f"duplicate command ratio {ratio:.2f}")
    if longest >= run_limit:
        reasons.append(f"same command repeated {longest}x consecutively")
    if not reasons:
        return None
    counts: dict[str, int] = {}
    runs: dict[str, int] = {}
    run = 0
    for index, command in enumerate(commands):
        counts[command] = counts.get(command, 0) + 1
        run = run + 1 if index and commands[index - 1] == command else 1
        runs[command] = max(runs.get(command, 0), run)
    listed = [c for c in counts if counts[c] >= 2 or runs[c] >= run_limit]
    listed.sort(key=lambda c: (-runs[c], -counts[c], c))
    items = []
    for command in listed[:5]:
        shown = command if len(command) <= 120 else command[:119] + "…"
        item = f"`{shown}` {counts[command]}x"
        items.append(item + (f" ({runs[command]} consecutive)" if runs[command] > 1 else ""))
    if len(listed) > 5:
        items.append(f"and {len(listed) - 5} more")
    explanation = "Trajectory is looped, so every question is scored 0 without judging. " + "; ".join(reasons)
    explanation += ". Looping commands: " + "; ".join(items) + "."
    return {
        "reasons": reasons,
        "commands": [{"command": c, "count": counts[c], "longest_run": runs[c]} for c in listed],
        "explanation": explanation,
    }


# ---- zeroing (b.2)


def corruption(document: str, *, truncated: bool, abandoned: bool, reserved: bool) -> str | None:
    """The reason a side is zeroed before judging, in the validator's order; switches say which rules exist."""
    if truncated and TOKEN_LIMIT_SENTINEL in document:
        return "output truncated mid-generation"
    if abandoned and ABANDON_SENTINEL in document:
        return "turn unusable after repeated attempts; the benchmark abandons here"
    # Most documents hold none of these beginnings, and twelve searches of a long text are not free.
    if reserved and any(start in document for start in ("<|", "<tool", "</tool", "<function=")):
        for token in RESERVED_TOKENS:
            if token in document:
                return f"reserved template token in output: {token}"
    return None


def amputated(document: str) -> bool:
    """More than half of the loose candidate blocks start with `</think>` (contract b.5)."""
    blocks = loose_blocks(document)
    return sum(block.lstrip().startswith("</think>") for block in blocks) > len(blocks) / 2


# ---- observations (b.3)


def wrap(body: str, returncode: int, form: str) -> str:
    """One observation as the harness prints it, for `returncode`, `swe_agent` or `openhands`."""
    if form == "returncode":
        return f"<returncode>{returncode}</returncode>\n<output>\n{body + chr(10) if body else ''}</output>"
    if form == "swe_agent":
        return "OBSERVATION:" + ("\n" + body if body else "")
    return (
        f"{body}\n[The command completed with exit code {returncode}.]\n[Command finished with exit code {returncode}]"
    )


# ---- scores (b.5)


def round6(value: float) -> float:
    """Six decimals, half to even on the binary value."""
    return round(value, 6)


def yes_rate(pairs: Iterable[tuple[float, float]]) -> float | None:
    """Weighted rate of (weight, value) pairs; all weights 0 gives the plain mean, no pair gives None."""
    held = list(pairs)
    if not held:
        return None
    total = sum(weight for weight, _ in held)
    if total == 0:
        return round6(sum(value for _, value in held) / len(held))
    return round6(sum(weight * value for weight, value in held) / total)


def yes_rate_v1(pairs: Iterable[tuple[str, str, float]]) -> float | None:
    """V1 rate of (category, requires, bit): `size` answers are a factor 0.6 + 0.4 · share, not in the mean."""
    held = list(pairs)
    sizes = [bit for category, _, bit in held if category == "size"]
    rest = [(REQUIRES_WEIGHTS[requires], bit) for category, requires, bit in held if category != "size"]
    if not rest:
        return None
    mean = sum(weight * bit for weight, bit in rest) / sum(weight for weight, _ in rest)
    factor = 0.6 + 0.4 * (sum(sizes) / len(sizes)) if sizes else 1.0
    return round6(mean * factor)


def mean6(values: Sequence[float]) -> float | None:
    """Mean rounded to six decimals, None for nothing."""
    return round6(sum(values) / len(values)) if values else None
