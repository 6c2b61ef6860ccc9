"""Two ways to land duel samples, one result: what columns take at once is what lines give one by one."""

import dataclasses
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from assay.landing import artifact as artifacts
from assay.landing.artifact import Artifact, land
from assay.landing.columnar import count_nul_characters, read_lines
from assay.landing.json_text import TextCounts
from assay.landing.lines import Line
from assay.landing.run import _prepare, find_artifacts
from assay.landing.sources.sn97 import classify
from landing_tree import RUN, SAMPLES, Tree

FIELDS = pa.schema(
    [
        ("name", pa.string()),
        ("row_bytes", pa.int64()),
        ("turns", pa.list_(pa.struct([("role", pa.string()), ("flag", pa.bool_())]))),
    ]
)
CLEAN = [
    b'{"name": "a", "turns": [{"role": "user", "flag": true}, {}]}',
    b'{"turns": null, "name": "\\ud83d\\ude00 \\u0000\\u0000 \xc3\xa9 null {} \\"}"}',
    b"{}",
    b'{"turns": [{"role": "\\u0000"}], "row_bytes": -3}',
]


def test_clean_lines_are_one_row_each_and_their_nul_characters_are_counted() -> None:
    table = read_lines(CLEAN, FIELDS)
    assert table is not None
    assert table.to_pylist() == [
        {"name": "a", "row_bytes": None, "turns": [{"role": "user", "flag": True}, {"role": None, "flag": None}]},
        {"name": '\U0001f600 \0\0 é null {} "}', "row_bytes": None, "turns": None},
        {"name": None, "row_bytes": None, "turns": None},
        {"name": None, "row_bytes": -3, "turns": [{"role": "\0", "flag": None}]},
    ]
    assert count_nul_characters(table) == 3
    assert count_nul_characters(table.slice(2)) == 1


@pytest.mark.parametrize(
    "line",
    [
        b"null",
        b"{} null",
        b"{} null {}",
        b"{}{}",
        b"{},",
        b"[]",
        b"1",
        b"",
        b" {}",
        b'{"name": "a", "name": "a"}',
        b'{"name": "a", "n\\u0061me": "b"}',
        b'{"turns": [{"flag": true, "flag": true}]}',
        b'{"name": "\\ud800"}',
        b'{"name": "\\udc00"}',
        b'{"name": "\xff"}',
        b'{"name": "\xed\xa0\x80"}',
        b'{"name": "\t"}',
        b'{"name": "\x00"}',
        b'{"name": 1}',
        b'{"name": ["a"]}',
        b'{"other": 1}',
        b'{"turns": [{"other": 1}]}',
        b'{"turns": {}}',
        b'{"turns": [[]]}',
        b'{"turns": [{"flag": 1}]}',
        b'{"row_bytes": 1.5}',
        b'{"row_bytes": 9223372036854775808}',
        b'{"row_bytes": NaN}',
        b'{"name": "a"',
        b'{"turns": ' + b"[" * 100_000,
        b'{"turns": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"other": ' + b'{"a":' * 100_000 + b"1" + b"}" * 100_001,
    ],
)
def test_a_line_that_is_not_clean_proves_nothing(line: bytes) -> None:
    for lines in ([line], [*CLEAN, line], [line, *CLEAN]):
        assert read_lines(lines, FIELDS) is None


def test_lines_too_long_for_one_column_are_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.landing.columnar._MOST_BYTES", 10)
    assert read_lines([b'{"name": "abcdef"}'], FIELDS) is None


TEXTS = ["", "plain", "é😀", "\0", 'quoted "\\', "\ud800", "\udc00 and more", "null", "}\nnull {"]
ODD: list[Any] = [None, 1, 1.5, True, [], {}, [None], {"role": "user"}, "x" * 2001]


def a_text(chance: random.Random, odd: float) -> Any:
    if chance.random() < odd:
        return chance.choice(ODD)
    return "".join(chance.choice(TEXTS[:5] + TEXTS[7:]) for _ in range(chance.randrange(4)))


def a_turn(chance: random.Random, odd: float) -> Any:
    turn: dict[str, Any] = {}
    for key in ("role", "content"):
        if chance.random() < 0.9:
            turn[key] = a_text(chance, odd)
    for key in ("score_target", "environment_observation", "truncated", "injected", "retry_feedback", "abandoned"):
        if chance.random() < 0.3:
            turn[key] = chance.choice([True, False, None]) if chance.random() >= odd else 1
    if chance.random() < odd:
        turn["newer"] = chance.choice(TEXTS)
    return turn if chance.random() >= odd else chance.choice(ODD)


def a_line(chance: random.Random, odd: float) -> bytes:
    if chance.random() < odd:
        return chance.choice([b"", b"null", b"{}", b"[]", b"{", b'{"sample_id": "a"} {}', b'{"sample_id": "\xff"}'])
    record: dict[str, Any] = {"eval_run_id": RUN, "sample_id": a_text(chance, odd)}
    for key in ("prompt", "previous_king_output", "challenger_output", "king_error", "target", "row_bytes"):
        if chance.random() < 0.6:
            record[key] = a_text(chance, odd) if key != "row_bytes" or chance.random() < odd else 7
    for key in ("previous_king_turns", "challenger_turns"):
        if chance.random() < 0.8:
            record[key] = [a_turn(chance, odd) for _ in range(chance.randrange(4))]
        if chance.random() < odd:
            record[key] = chance.choice([*ODD, [chance.choice(TEXTS[5:7])]])
    if chance.random() < odd:
        record["prompt"] = chance.choice(TEXTS[5:7])
    return json.dumps(record, ensure_ascii=chance.random() < 0.5).encode("utf-8", "surrogatepass")


def landed(artifact: Artifact, folder: Path) -> tuple[Any, ...]:
    folder.mkdir()
    _prepare(folder)
    result = land(artifact, folder, 1 << 20)
    tables = {
        table: pq.read_table(folder / table / f"{artifact.file_stem}.parquet").to_pylist() for table in result.tables
    }
    return result, tables


def both_ways(tree: Tree, name: str) -> tuple[Any, ...]:
    found = {artifact.artifact_id: artifact for artifact in find_artifacts(tree.raw)[0]}
    artifact = found[name]
    assert artifact.kind is not None and artifact.kind.extract_columns is not None
    line_by_line = dataclasses.replace(artifact, kind=dataclasses.replace(artifact.kind, extract_columns=None))
    at_once = landed(artifact, tree.folder / "at_once")
    assert at_once == landed(line_by_line, tree.folder / "line_by_line")
    return at_once


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


@pytest.mark.parametrize("odd", [0.0, 0.002, 0.02, 0.2])
@pytest.mark.parametrize("name", [SAMPLES, SAMPLES.replace("generated-samples", "duel-transcript") + ".gz"])
def test_both_ways_land_the_same(tree: Tree, monkeypatch: pytest.MonkeyPatch, odd: float, name: str) -> None:
    monkeypatch.setattr(artifacts, "FLUSH_BYTES", 4000)
    chance = random.Random(f"{odd} {name}")
    lines = [a_line(chance, odd) for _ in range(600)]
    tree.write_lines(name, *lines)
    result, tables = both_ways(tree, name)
    assert result.row["n_rows"] + result.row["n_quarantined"] == result.row["n_lines"]
    assert bool(result.row["n_quarantined"]) is (odd > 0)
    assert len(tables[result.tables[0]]) == result.row["n_rows"]


def columns_of(lines: Sequence[bytes]) -> Any:
    kind, facts = classify(("runs", RUN, "generated-samples.jsonl")) or pytest.fail("a kind of its own")
    assert kind.extract_columns is not None
    return kind.extract_columns([Line(number, 0, line) for number, line in enumerate(lines, 1)], facts, TextCounts())


def test_what_lines_would_refuse_columns_do_not_take() -> None:
    assert columns_of([b'{"sample_id": "a", "challenger_turns": [{"role": "user"}]}']) is not None
    assert columns_of([b'{"sample_id": "%s"}' % (b"x" * 2000)]) is not None
    for line in (
        b'{"sample_id": null}',
        b"{}",
        b'{"sample_id": "%s"}' % (b"x" * 2001),
        b'{"sample_id": "a", "challenger_turns": [null]}',
        b'{"sample_id": "a", "challenger_turns": [%s]}' % b",".join([b"{}"] * 32_769),
    ):
        assert columns_of([line]) is None


def test_a_faulty_line_stands_between_its_neighbours(tree: Tree) -> None:
    long = b'{"sample_id": "long", "prompt": "%s"}' % (b"x" * (1 << 20))
    tree.write_lines(SAMPLES, {"sample_id": "a"}, long, {"sample_id": "b"}, b"", {"sample_id": "c"})
    result, tables = both_ways(tree, SAMPLES)
    assert [(row["line"], row["sample_id"]) for row in tables["sn97_generated_samples"]] == [
        (1, "a"),
        (3, "b"),
        (5, "c"),
    ]
    assert [(row["line"], row["reason"]) for row in tables["quarantine"]] == [(2, "line_too_long")]
    assert result.row["n_blank_lines"] == 1
