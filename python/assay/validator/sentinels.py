"""Sentinel texts, think tags and reserved tokens (contract sn97 b.2, b.3)."""

import re

TRUNCATION_SENTINEL = "MODEL_RESPONSE_TOKEN_LIMIT_EXCEEDED"
UNCLOSED_THINK_SENTINEL = "MODEL_UNCLOSED_THINK_BLOCK"
ABANDONMENT_SENTINEL = "CONSECUTIVE_BAD_TURNS_LIMIT_EXCEEDED"

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

_RESERVED = re.compile("|".join(re.escape(token) for token in RESERVED_TOKENS))
_FENCED_SPAN = re.compile(r"```.*?```", re.DOTALL)
# One optional group holds the slash and the blanks after it, so that a run of blanks is never split two ways.
_THINK_TAG = re.compile(r"<\s*(?:(/)\s*)?think\s*>", re.IGNORECASE)


def is_truncated(text: str | None) -> bool:
    """Say whether the token-limit sentinel stands anywhere in `text` (case-sensitive; null is no text)."""
    return TRUNCATION_SENTINEL in (text or "")


def has_unclosed_think_block(text: str | None) -> bool:
    """Say whether the pre-eval sentinel of an unclosed think block stands anywhere in `text`."""
    return UNCLOSED_THINK_SENTINEL in (text or "")


def is_abandoned(text: str | None) -> bool:
    """Say whether the sentinel of repeated unusable turns stands anywhere in `text` (V5a and later)."""
    return ABANDONMENT_SENTINEL in (text or "")


def truncation_notice(token_limit: int) -> str:
    """Return the notice that replaces a turn of more than `token_limit` tokens."""
    return f"{TRUNCATION_SENTINEL}: Model returned over {token_limit} tokens in one response, stopping conversation."


def unclosed_think_block_notice() -> str:
    """Return the notice that replaces a pre-eval turn whose think block never closes."""
    return f"{UNCLOSED_THINK_SENTINEL}: Model returned an unclosed think block, stopping conversation."


def _last_close_and_open_after(text: str) -> tuple[int, bool]:
    """Return where the text after the last closing tag begins (0 without one) and whether it opens a block.

    Tags inside fenced spans do not count.
    """
    begin, is_open = 0, False
    fences = [match.span() for match in _FENCED_SPAN.finditer(text)]
    fence = 0
    for tag in _THINK_TAG.finditer(text):
        while fence < len(fences) and fences[fence][1] <= tag.start():
            fence += 1
        if fence < len(fences) and fences[fence][0] <= tag.start():
            continue
        if tag.group(1):
            begin, is_open = tag.end(), False
        else:
            is_open = True
    return begin, is_open


def think_is_open(text: str | None) -> bool:
    """Say whether, outside fenced spans, an opening think tag has no closing tag after it (contract sn97
    b.3).
    """
    return _last_close_and_open_after(text or "")[1]


def strip_thinking_for_preeval(text: str | None) -> str:
    """Return what the pre-eval gate judges of a turn: the text after the last closing think tag, stripped.

    An opening tag that remains turns the whole into the unclosed-think notice (contract sn97 b.3).
    """
    whole = text or ""
    begin, is_open = _last_close_and_open_after(whole)
    return unclosed_think_block_notice() if is_open else whole[begin:].strip()


def reserved_token_leak(document: str | None) -> str:
    """Return the first reserved template token in `document`, or the empty string (contract sn97 b.2 step 3)."""
    match = _RESERVED.search(document or "")
    return match.group(0) if match else ""


def corruption_reason(document: str | None, *, check_abandoned: bool, check_reserved: bool) -> str:
    """Return why a side is zeroed before its loop check, or the empty string; the first hit wins.

    `check_abandoned` holds from V5a, `check_reserved` from V4 (contract sn97 b.2).
    """
    if is_truncated(document):
        return "output truncated mid-generation"
    if check_abandoned and is_abandoned(document):
        return "turn unusable after repeated attempts; the benchmark abandons here"
    token = reserved_token_leak(document) if check_reserved else ""
    return f"reserved template token in output: {token}" if token else ""
