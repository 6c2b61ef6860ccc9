"""The think tags of a turn as one state. Source: contract sn97 b.3; definitions (unclosed think)."""

import re
from typing import Literal

ThinkState = Literal["none", "closed", "close_only", "unclosed", "nested"]

_FENCED = re.compile(r"```.*?```", re.DOTALL)
_TAG = re.compile(r"<\s*(?:(/)\s*)?think\s*>", re.IGNORECASE)


def think_state(text: str) -> ThinkState:
    """Read the tags outside fences in order.

    `none` without a tag; `closed` when every opening tag is closed before the next; `close_only` when a closing tag
    stands without an opening one (the chat template opened the block); `nested` when one opens inside another;
    `unclosed` when the last opening tag has no closing tag after it, whatever came before.
    """
    if "<" not in text:  # most turns: spares them the copy without fences
        return "none"
    depth = 0
    seen = orphan = nested = False
    for tag in _TAG.finditer(_FENCED.sub(" ", text)):
        seen = True
        if not tag.group(1):
            nested = nested or depth > 0
            depth += 1
        elif depth:
            # One closing tag ends the block, however often it was opened: so reads the harness.
            depth = 0
        else:
            orphan = True
    if depth:
        return "unclosed"
    if nested:
        return "nested"
    if orphan:
        return "close_only"
    return "closed" if seen else "none"
