"""What agreement needs to know of a teacher reference, as small columns (contract sn120 C.1, C.2, C.4)."""

import hashlib
import json
from dataclasses import dataclass

from assay.validator.repairs import first_token, normalised_command
from assay.validator.rollouts import FENCE_HEAD, FENCE_TAIL, command_of


@dataclass(frozen=True)
class ReferenceFacts:
    """A reference by its action: dialect, first token of the command, and keys under which actions are the same."""

    dialect: str
    first_token: str | None
    action_key: str | None
    norm_key: str | None


def key_of(text: str) -> str:
    """Return 32 hex digits that stand for a text: 128 bits of its sha256."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def dialect_of(action: str | None) -> str:
    """Return the dialect of a published action (contract A.7, B.3): `bash` when it stands in its bash fence.

    The others are recognised, not parsed: `tool_call`, `terminus_json`, `boxed`, else `text`; `none` without one.
    """
    if not action:
        return "none"
    if action.startswith(FENCE_HEAD) and action.endswith(FENCE_TAIL) and len(action) >= len(FENCE_HEAD + FENCE_TAIL):
        return "bash"
    stripped = action.strip()
    if stripped.startswith("\\boxed{"):
        return "boxed"
    if stripped.startswith("<tool_call>"):
        return "tool_call"
    if stripped.startswith("{"):
        try:
            value = json.loads(stripped)
        except (ValueError, RecursionError):
            return "text"
        if isinstance(value, dict) and {"analysis", "plan", "commands"} <= value.keys():
            return "terminus_json"
        if isinstance(value, dict) and "name" in value:
            return "tool_call"
    return "text"


def reference_facts(action: str | None) -> ReferenceFacts:
    """Return the facts of an action; only a bash action has a token and keys."""
    dialect = dialect_of(action)
    if action is None or dialect != "bash":
        return ReferenceFacts(dialect, None, None, None)
    command = command_of(action)
    return ReferenceFacts(dialect, first_token(command), key_of(action), key_of(normalised_command(command)))


def content_key(thought: str | None, action: str | None, lp_own: float | None, lp_empty: float | None) -> str:
    """Return a key under which a reference that was published twice is the same one."""
    return key_of(json.dumps([thought, action, lp_own, lp_empty]))
