"""One JSON text to one Python value, refusing what readers would disagree about.

Stricter than `json.loads`: NaN and infinities, numbers that overflow to infinity and repeated keys are refused.
Milder in one point: lone surrogates, which real tool output holds where it was cut, become U+FFFD and are counted.
"""

import json
import math
import re
from dataclasses import dataclass
from typing import Any, NoReturn

import msgspec
import numpy as np

from assay.landing.faults import RefusedError

MAX_DEPTH = 200
"""Deepest nesting that is read: far above any published record, far below what exhausts a stack of any caller."""

_SURROGATE = re.compile("[\ud800-\udfff]")
# An escaped NUL, an escaped surrogate without its other half, or what an escaped backslash makes look like one half.
_UNCLEAN = re.compile(
    rb"\\u(?:0000|[dD](?:[89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])"
    rb"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD])[c-fC-F]))"
    rb"|\\\\u[dD][89abAB]"
)


@dataclass
class TextCounts:
    """What was found in strings: lone surrogates replaced, NUL characters kept."""

    surrogates_replaced: int = 0
    nul_characters: int = 0


def decode(data: bytes, counts: TextCounts) -> str:
    """Decode UTF-8; surrogates that were written as three raw bytes are replaced like escaped ones.

    Raw NUL characters are not counted: JSON does not allow them, the reader of plain text counts its own.
    """
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        try:
            text = data.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            raise RefusedError("invalid_utf8", f"byte {error.start} of the line") from None
        return _replace_surrogates(text, counts)


def parse(data: bytes, counts: TextCounts) -> Any:
    """Parse one JSON text (UTF-8 bytes) and return its value, or raise `RefusedError` with the reason."""
    value = _parse_clean(data) if len(data) >= _LONG_BYTES else _UNPROVEN
    return _parse_any(data, counts) if value is _UNPROVEN else value


def _parse_clean(data: bytes) -> Any:
    """The value of an object in which nothing is refused, repaired or counted; `_UNPROVEN` where that is not sure.

    The fast parser refuses all that the other one does, lone surrogates too, but for three things: of repeated keys
    it lets the last one win, so the keys of the text are counted; it reads deep nesting, and NUL characters.
    """
    if b"\\u0000" in data:
        return _UNPROVEN
    try:
        value = _FAST_DECODER.decode(data)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return _UNPROVEN
    if type(value) is not dict:
        return _UNPROVEN
    n_keys = count_keys(value)
    return value if n_keys is not None and n_keys == count_written_keys(data) else _UNPROVEN


def count_written_keys(data: bytes) -> int | None:
    """The keys of valid JSON objects as they are written, repeated ones each time; None where it is hard to tell."""
    text = np.frombuffer(data, np.uint8)
    quotes = np.flatnonzero(text == _QUOTE)
    # A quote is escaped when the run of backslashes before it has an odd length.
    is_escaped = text[quotes - 1] == _BACKSLASH
    run, distance = np.flatnonzero(is_escaped), 2
    while len(run := run[text[quotes[run] - distance] == _BACKSLASH]):
        is_escaped[run] = distance % 2 == 1
        distance += 1
        if distance > _MAX_BACKSLASHES:
            return None
    following = text[quotes[~is_escaped][1::2] + 1]
    return None if (following <= _SPACE).any() else int(np.count_nonzero(following == _COLON))


def _parse_any(data: bytes, counts: TextCounts) -> Any:
    text = decode(data, counts)
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise RefusedError("invalid_json", f"{error.msg} at character {error.pos}") from None
    except RecursionError:
        raise RefusedError("nested_too_deeply") from None
    except ValueError:
        # The only other ValueError of the decoder: an integer with more digits than Python converts.
        raise RefusedError("number_out_of_range", "an integer of thousands of digits") from None
    if count_keys(value) is None:
        raise RefusedError("nested_too_deeply")
    # One look at the bytes spares nearly every line the walk over its strings.
    if _UNCLEAN.search(data):
        value = clean(value, counts)
    return value


def parse_object(data: bytes, counts: TextCounts) -> dict[str, Any]:
    """Parse one JSON object, or raise `RefusedError`."""
    value = parse(data, counts)
    if type(value) is not dict:
        raise RefusedError("not_an_object", f"found {type_name(value)}")
    return value


def dump(value: Any) -> str | None:
    """Write a parsed value as compact JSON in its own key order; None (JSON null) stays None."""
    if value is None:
        return None
    try:
        return _ENCODER.encode(value)
    except (TypeError, ValueError):
        # Only a value of a parquet file can be no JSON: a date, bytes, NaN.
        raise RefusedError("wrong_type", "a value that JSON cannot hold") from None


def type_name(value: Any) -> str:
    """The JSON name of a parsed value's type."""
    return _TYPE_NAMES.get(type(value), type(value).__name__)


_TYPE_NAMES = {
    str: "text",
    int: "integer",
    float: "number",
    bool: "boolean",
    dict: "object",
    list: "array",
    type(None): "null",
}


def count_keys(value: Any) -> int | None:
    """How many keys the objects of a value have in all; None where the nesting is too deep."""
    n_keys = 0
    level = [value] if type(value) is dict or type(value) is list else []
    for _ in range(MAX_DEPTH):
        if not level:
            return n_keys
        deeper: list[Any] = []
        for container in level:
            items: Any = container
            if type(container) is dict:
                n_keys += len(container)
                items = container.values()
            deeper += [item for item in items if type(item) is dict or type(item) is list]
        level = deeper
    return n_keys if not level else None


def _replace_surrogates(text: str, counts: TextCounts) -> str:
    repaired, replaced = _SURROGATE.subn("\ufffd", text)
    counts.surrogates_replaced += replaced
    return repaired


def clean(value: Any, counts: TextCounts) -> Any:
    """Replace lone surrogates and count them and NUL characters, through arrays and objects."""
    kind = type(value)
    if kind is str:
        counts.nul_characters += value.count("\0")
        if not value.isascii():
            try:
                value.encode("utf-8")
            except UnicodeEncodeError:
                return _replace_surrogates(value, counts)
        return value
    if kind is dict:
        # Two keys may become one when their surrogates do; then the object is refused like any repeated key.
        return _object([(clean(key, counts), clean(item, counts)) for key, item in value.items()])
    if kind is list:
        return [clean(item, counts) for item in value]
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    built = dict(pairs)
    if len(built) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise RefusedError("duplicate_key", repr(key[:100]))
            seen.add(key)
    return built


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise RefusedError("non_finite_number", f"{text[:40]} overflows to infinity")
    return number


def _constant(name: str) -> NoReturn:
    raise RefusedError("non_finite_number", f"the literal {name}")


_UNPROVEN = object()
_LONG_BYTES = 2048
"""From this length on the fast parser is the faster one, its proof included."""
_MAX_BACKSLASHES = 64
_QUOTE, _BACKSLASH, _COLON, _SPACE = b'"\\: '

_FAST_DECODER = msgspec.json.Decoder()
_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_float=_finite, parse_constant=_constant)
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
