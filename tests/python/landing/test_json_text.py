"""Two parsers, one meaning: what the fast one reads is what the strict one reads, and it reads nothing else."""

import json
import random

import pytest
from assay.landing import json_text
from assay.landing.faults import RefusedError
from assay.landing.json_text import TextCounts, parse

FILLER = '"filler": "' + "x" * 4096 + '"'
_TEXTS = [
    "\\\\",
    '\\"',
    "\\n",
    "\\u0041",
    "\\ud83d\\ude00",
    "é",
    "😀",
    "x",
    ":",
    '\\":',
    "\\ud800",
    "\\u0000",
    "\\\\u0000",
]
_BROKEN = ['"', "\\", "\t", "{", "}"]
_NUMBERS = ["0", "-0", "1.5", "1e5", "1E400", "-1e-400", "0.1", "1e16", "9007199254740993.0", "18446744073709551616",
            "01", "NaN", "Infinity", "1" * 5000]  # fmt: skip


def a_text(chance: random.Random) -> str:
    pieces = _TEXTS if chance.random() < 0.95 else _BROKEN
    return '"' + "".join(chance.choice(pieces) for _ in range(chance.randrange(6))) + '"'


def a_value(chance: random.Random, depth: int = 0) -> str:
    kind = chance.random() if depth < 5 else 0.0
    if kind < 0.5:
        return a_text(chance)
    if kind < 0.6:
        return chance.choice(_NUMBERS) if chance.random() < 0.2 else repr(chance.uniform(-1e9, 1e9))
    if kind < 0.7:
        return chance.choice(["null", "true", "false"])
    if kind < 0.85:
        return "[" + ", ".join(a_value(chance, depth + 1) for _ in range(chance.randrange(4))) + "]"
    keys = [chance.choice(['"a"', '"b"', '"c"', '"d\\\\"', a_text(chance)]) for _ in range(chance.randrange(4))]
    blank = chance.choice(["", "", "", " ", "\n"])
    return "{" + ",".join(f"{key}{blank}:{a_value(chance, depth + 1)}" for key in keys) + "}"


def outcome(data: bytes, strict: bool) -> tuple[str, str, TextCounts]:
    counts = TextCounts()
    try:
        return "read", repr((json_text._parse_any if strict else parse)(data, counts)), counts
    except RefusedError as fault:
        return fault.reason, fault.detail, counts


def test_both_parsers_say_the_same_of_every_text() -> None:
    chance = random.Random(20261129)
    n_fast = 0
    for _ in range(4000):
        text = ", ".join(f'"key {index}": {a_value(chance)}' for index in range(chance.randrange(1, 4)))
        data = f"{{{FILLER}, {text}}}".encode()
        assert outcome(data, strict=False) == outcome(data, strict=True), data[len(FILLER) :]
        n_fast += json_text._parse_clean(data) is not json_text._UNPROVEN
    assert n_fast > 400


@pytest.mark.parametrize(
    "text",
    [
        '"a": 1, "a": 1',
        '"a": 1, "\\u0061": 1',
        '"a" : 1, "b": 2, "b": 2',
        '"a\\\\": 1, "a\\\\": 1',
        '"a": {"b": [{"c": 1, "c": 1}]}',
        '"a": "\\":", "b" : 1, "b" : 1',
    ],
)
def test_a_repeated_key_of_a_long_line_is_refused(text: str) -> None:
    assert outcome(f"{{{FILLER}, {text}}}".encode(), strict=False)[0] == "duplicate_key"


def test_a_long_clean_line_takes_the_fast_way() -> None:
    record = {
        "text": 'say \\"hello\\": \\\\',
        "path": "C:\\",
        "é": [{"b": 1.5}, [], {}],
        "n": 10**30,
        "long": "x" * 4096,
    }
    for data in (json.dumps(record), json.dumps(record, ensure_ascii=False, separators=(",", ":"))):
        assert json_text._parse_clean(data.encode()) == record


def test_a_long_run_of_backslashes_costs_no_time() -> None:
    data = b'{"a": "' + b"\\" * 4_000_000 + b'", "b": "' + b"\\" * 4_000_001 + b'""}'
    assert parse(data, TextCounts()) == {"a": "\\" * 2_000_000, "b": "\\" * 2_000_000 + '"'}
