"""The prompt of a turn and what is put after it (contract sn120 B.1, B.2, B.4)."""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.validator.rollouts import LABEL, THINK_CLOSE

THINK_OPEN = "<think>"


def open_think(rendered: str) -> str:
    """Return a rendered prompt with an open think tag at its end; one that has it is kept as it is (B.1)."""
    return rendered if rendered.rstrip().endswith(THINK_OPEN) else rendered + THINK_OPEN


def inject_thought(prompt: str, thought: str) -> str:
    """Return a prompt with a thought injected after it; the thought is not stripped (B.2)."""
    return f"{prompt}{THINK_CLOSE}\n{LABEL}{thought}\n\n"


def force_text(prompt: str, thought: str, action: str) -> str:
    """Return the text that is echoed to score an action after a thought (B.2)."""
    return inject_thought(prompt, thought) + action


@dataclass(frozen=True)
class ActionLogProbability:
    """The log probability of an echoed action: its sum, over how many tokens and bytes, and a byte."""

    sum_lp: float
    n_tokens: int
    n_bytes: int
    lp_per_byte: float


def action_log_probability(
    full_text: str,
    action: str,
    offset_mapping: Sequence[Sequence[int]],
    token_logprobs: Sequence[float | None],
) -> ActionLogProbability:
    """Return the log probability a byte of the action that ends `full_text`.

    `offset_mapping` holds (begin, end) of each echoed token in characters; `token_logprobs` one number more,
    that of the one generated token, which does not count. A token that begins before the action is prompt.
    """
    begin = len(full_text) - len(action)
    prompt_tokens = sum(1 for offset in offset_mapping if offset[0] < begin)
    scored = [value for value in token_logprobs[prompt_tokens:-1] if value is not None]
    total = float(sum(scored))
    n_bytes = len(action.encode("utf-8", "surrogatepass"))
    return ActionLogProbability(total, len(scored), n_bytes, total / max(1, n_bytes))
