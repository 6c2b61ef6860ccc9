"""Teacher and miner completions: splitting them and putting them together again (contract sn120 B.2, B.3,
C.7).
"""

import re

THINK_CLOSE = "</think>"
LABEL = "THOUGHT: "
FENCE_HEAD = "```bash\n"
FENCE_TAIL = "\n```"

_LEADING_LABEL = re.compile(r"\s*THOUGHT:\s*")


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


def split_rollout(text: str, require_think_close: bool = False) -> tuple[str, str]:
    """Split a completion into (thought, action).

    The action is the last fenced bash block after the first closing think tag; without one both are empty.
    With `require_think_close` (miner sides from September 2026) a text without that tag has neither.
    """
    latent, rest, closed = _latent_and_rest(text)
    span = _last_bash_block(rest)
    if span is None or (require_think_close and not closed):
        return "", ""
    return _joined_thought(latent, rest[: span[0]]), rest[span[0] : span[1]]


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
