"""Teacher and miner completions: splitting them and putting them together again (contract sn120 B.2, B.3,
C.7).
"""

import json
import re
from typing import Literal

ActionKind = Literal["bash", "tool_call", "boxed", "text", "terminus_json"]

THINK_OPEN = "<think>"
THINK_CLOSE = "</think>"
LABEL = "THOUGHT: "
FENCE_HEAD = "```bash\n"
FENCE_TAIL = "\n```"

_LEADING_LABEL = re.compile(r"\s*THOUGHT:\s*")
_BOXED = "\\boxed{"
_TERMINUS_KEYS = ("analysis", "plan", "commands")


def _last_bash_block(text: str) -> tuple[int, int] | None:
    """Return (begin, end) of the last fenced bash block, fence included, or null."""
    last: tuple[int, int] | None = None
    position = 0
    while (begin := text.find(FENCE_HEAD, position)) >= 0:
        end = text.find(FENCE_TAIL, begin + len(FENCE_HEAD))
        if end < 0:
            break
        position = end + len(FENCE_TAIL)
        last = (begin, position)
    return last


def extract_action(text: str) -> str:
    """Return the last fenced bash block of a whole text, fence included, or the empty string."""
    span = _last_bash_block(text)
    return text[span[0] : span[1]] if span else ""


def _latent_and_rest(text: str) -> tuple[str, str, bool]:
    before, tag, after = text.partition(THINK_CLOSE)
    return (before.strip(), after, True) if tag else ("", text, False)


def _joined_thought(latent: str, visible: str) -> str:
    stripped = visible.strip()
    label = _LEADING_LABEL.match(stripped)
    if label:
        stripped = stripped[label.end() :]
    return "\n".join(part for part in (latent, stripped) if part)


def split_rollout(text: str) -> tuple[str, str]:
    """Split a completion into (thought, action) as the bash-only contract of August 2026 does.

    The action is the last fenced bash block after the first closing think tag; without one both are empty.
    """
    latent, rest, _ = _latent_and_rest(text)
    span = _last_bash_block(rest)
    if span is None:
        return "", ""
    return _joined_thought(latent, rest[: span[0]]), rest[span[0] : span[1]]


def _last_boxed(text: str) -> tuple[int, int] | None:
    """Return (begin, end) of the last `\\boxed{…}` with balanced braces and content that is not blank."""
    depth_at: list[tuple[int, int]] = []
    best: tuple[int, int] | None = None
    depth = 0
    index = 0
    while index < len(text):
        if text.startswith(_BOXED, index):
            depth_at.append((depth, index))
            depth += 1
            index += len(_BOXED)
            continue
        if text[index] == "{":
            depth += 1
        elif text[index] == "}":
            # A closing brace without an opening one belongs to no box and changes nothing.
            depth = max(depth - 1, 0)
            if depth_at and depth_at[-1][0] == depth:
                begin = depth_at.pop()[1]
                inside = text[begin + len(_BOXED) : index]
                if inside.strip() and (best is None or begin > best[0]):
                    best = (begin, index + 1)
        index += 1
    return best


def split_rollout_by_kind(
    text: str, action_kind: ActionKind, require_think_close: bool = False
) -> tuple[str, str] | None:
    """Split a completion by the dialect of its turn (contract of September 2026); null for one we do not
    parse.

    With `require_think_close` a text without a closing think tag gives two empty strings.
    """
    latent, rest, closed = _latent_and_rest(text)
    if require_think_close and not closed:
        return "", ""
    if action_kind == "bash":
        return split_rollout(text)
    if action_kind == "text":
        action = rest.strip()
        return (latent, action) if action else ("", "")
    if action_kind == "boxed":
        span = _last_boxed(rest)
        if span is None:
            return "", ""
        return _joined_thought(latent, rest[: span[0]]), rest[span[0] : span[1]]
    if action_kind == "terminus_json":
        action = rest.strip()
        try:
            value = json.loads(action)
        except (ValueError, RecursionError):
            return "", ""
        complete = isinstance(value, dict) and all(key in value for key in _TERMINUS_KEYS)
        return (latent, action) if complete else ("", "")
    return None


def fenced(command: str) -> str:
    """Return a command as an action, that is inside its bash fence."""
    return FENCE_HEAD + command + FENCE_TAIL


def command_of(action: str) -> str:
    """Return the command of an action: the text inside its bash fence, or the whole when there is none."""
    if len(action) >= len(FENCE_HEAD + FENCE_TAIL) and action.startswith(FENCE_HEAD) and action.endswith(FENCE_TAIL):
        return action[len(FENCE_HEAD) : -len(FENCE_TAIL)]
    return action


def completion_text(thought: str, action: str, cue: str | None = None) -> str:
    """Return the training completion: closing tag, labelled thought, the cue when there is one, and the
    action.
    """
    return f"{THINK_CLOSE}\n{LABEL}{thought_with_cue(thought, cue)}\n\n{action}"


def thought_with_cue(thought: str, cue: str | None) -> str:
    """Return a thought followed by a blank line and the cue, or the thought alone without one."""
    return thought if cue is None else f"{thought}\n\n{cue}"


def roundtrips(thought: str, action: str, cue: str | None = None) -> tuple[bool, bool]:
    """Say whether splitting the completion gives back (the thought with its cue, the action)."""
    got_thought, got_action = split_rollout(completion_text(thought, action, cue))
    return got_thought == thought_with_cue(thought, cue), got_action == action


def open_think(rendered: str) -> str:
    """Return a rendered prompt with an open think tag at its end; one that has it is kept as it is (B.1)."""
    return rendered if rendered.rstrip().endswith(THINK_OPEN) else rendered + THINK_OPEN


def inject_thought(prompt: str, thought: str) -> str:
    """Return a prompt with a thought injected after it; the thought is not stripped (B.2)."""
    return f"{prompt}{THINK_CLOSE}\n{LABEL}{thought}\n\n"


def force_text(prompt: str, thought: str, action: str) -> str:
    """Return the text that is echoed to score an action after a thought (B.2)."""
    return inject_thought(prompt, thought) + action
