"""Fenced and tagged command blocks inside a turn (contract sn97 b.1, b.3, b.4)."""

import re
from bisect import bisect_left
from collections.abc import Iterator

from assay.validator.searching import search

FENCE = "```"

# Any case, blanks after the tag: what the submission rule and the later loop checks read.
SHELL_FENCE = re.compile(r"```(?:bash|sh|shell)[ \t]*\n", re.IGNORECASE)
# Lower case alone: what the harness executes; the second one also takes a bare fence.
TAGGED_FENCE = re.compile(r"```(?:bash|sh)[ \t]*\n")
TAGGED_OR_BARE_FENCE = re.compile(r"```(?:bash|sh)?[ \t]*\n")

_TAG = r"<([a-z_]+)>"
_ACTION_OPENING = re.compile(SHELL_FENCE.pattern + "|" + _TAG, re.IGNORECASE)
_TAG_OPENING = re.compile(_TAG, re.IGNORECASE)
_TAG_CLOSING = re.compile(r"</([a-z_]+)>", re.IGNORECASE)
_NAMES_BASH = re.compile("bash", re.IGNORECASE)


def collapse_space(text: str | None) -> str:
    """Trim `text` and make every run of white space (Unicode, as `str.split` sees it) one space."""
    return " ".join((text or "").split())


def fenced_blocks(text: str, opening: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    """Yield (start, body) of every block from a match of `opening`, which begins with a fence, to the next fence.

    A block without an end ends the search: had a later block an end, this one would have it too.
    """
    position = 0
    while head := search(opening, FENCE, text, position):
        end = text.find(FENCE, head.end())
        if end < 0:
            return
        yield head.start(), text[head.end() : end]
        position = end + len(FENCE)


def first_fenced_block(text: str | None, opening: re.Pattern[str]) -> str | None:
    """Return the body of the first block that `opening` begins, or null."""
    return next((body for _, body in fenced_blocks(text or "", opening)), None)


def _folded(name: str) -> str:
    # A back reference that ignores case compares simple lower-case forms, one character each.
    return "".join("i" if char == "\u0130" else char.lower() for char in name)


class _TagEnds:
    """Where the closing tags of each `…bash…` name stand, found in one pass."""

    def __init__(self, text: str) -> None:
        self._spans: dict[str, list[tuple[int, int]]] = {}
        for match in _TAG_CLOSING.finditer(text):
            if _NAMES_BASH.search(match.group(1)):
                self._spans.setdefault(_folded(match.group(1)), []).append(match.span())

    def first_from(self, name: str, position: int) -> tuple[int, int] | None:
        spans = self._spans.get(_folded(name), [])
        index = bisect_left(spans, (position, position))
        return spans[index] if index < len(spans) else None


def action_block_spans(text: str | None) -> list[tuple[int, int, str]]:
    """Return (begin, end, body) of all shell fences and `<…bash…>` tagged blocks in order, none inside
    another.
    """
    whole = text or ""
    ends: _TagEnds | None = None
    blocks: list[tuple[int, int, str]] = []
    position = 0
    while head := _ACTION_OPENING.search(whole, position):
        name = head.group(1)
        span: tuple[int, int] | None = None
        if name is None:
            end = whole.find(FENCE, head.end())
            span = (end, end + len(FENCE)) if end >= 0 else None
        elif _NAMES_BASH.search(name):
            ends = ends or _TagEnds(whole)
            span = ends.first_from(name, head.end())
        if span is None:
            position = head.start() + 1
            continue
        blocks.append((head.start(), span[1], whole[head.end() : span[0]]))
        position = span[1]
    return blocks


def first_tagged_block(text: str | None) -> tuple[int, str] | None:
    """Return (start, body) of the first `<…bash…>` tagged block, or null."""
    whole = text or ""
    ends: _TagEnds | None = None
    for head in _TAG_OPENING.finditer(whole):
        if _NAMES_BASH.search(head.group(1)):
            ends = ends or _TagEnds(whole)
            span = ends.first_from(head.group(1), head.end())
            if span is not None:
                return head.start(), whole[head.end() : span[0]]
    return None


def first_bash_block(text: str | None) -> str:
    """Return the command the harness executes: the first tagged shell fence, else the first bare one,
    stripped.

    Without either the empty string (contract sn97, names of the vectors).
    """
    body = first_fenced_block(text, TAGGED_FENCE)
    if body is None:
        body = first_fenced_block(text, TAGGED_OR_BARE_FENCE)
    return (body or "").strip()
