"""Two ways to land the large kinds, one result: what columns take at once is what lines give one by one."""

import dataclasses
import json
import random
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from assay.landing import artifact as artifacts
from assay.landing import columnar
from assay.landing.artifact import Artifact, land
from assay.landing.columnar import count_nul_characters, read_lines
from assay.landing.json_text import TextCounts, dump
from assay.landing.lines import Line
from assay.landing.run import _prepare, find_artifacts
from assay.landing.sources.sn97 import classify
from landing_tree import RUN, SAMPLES, SCORES, Tree

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


# Written as they stand, in place of the text that holds them.
LITERALS = ["1e-7", "-0.00001", "1E16", "-2.5e+20", "0.1000", "-0", "-0.0", "1e-400", '"\\u00e9\\/"',
            '{"a":{"a":[1e15]},"b\\\\":"\\\\\\":"}']  # fmt: skip
ODD_LITERALS = ["1e400", "-1E400", "NaN", "1" * 400, "1" * 5000, '"\\ud800"', '"\\u0000"', '{"a":1,"a":2}',
                '{"a" :[],"a":0}', '{"a":1,"\\u0061":2}', "[" * 196 + "]" * 196, "[" * 200 + "]" * 200,
                "01"]  # fmt: skip
ODD_VALUES: list[Any] = [
    *ODD,
    0,
    -1,
    2**53 + 1,
    2**63,
    10**30,
    1e16,
    False,
    [[]],
    [1],
    {"a": 1},
    {"a": {"b": [1.5]}},
    "challenger",
]


def a_plain_text(chance: random.Random) -> str:
    return "".join(
        chance.choice(["", "plain", "é😀", 'quoted "\\', "null", '":', ":", "}"]) for _ in range(chance.randrange(4))
    )


def a_document(chance: random.Random, odd: float, depth: int = 0) -> Any:
    if chance.random() < odd:
        return f"literal {chance.choice(ODD_LITERALS)}"
    kind = chance.randrange(5 if depth < 3 else 3)
    if kind == 3:
        return [a_document(chance, odd, depth + 1) for _ in range(chance.randrange(3))]
    if kind == 4:
        return {a_plain_text(chance): a_document(chance, odd, depth + 1) for _ in range(chance.randrange(3))}
    return chance.choice(
        [None, True, 1, 10**30, chance.uniform(-1, 1), a_plain_text(chance), f"literal {chance.choice(LITERALS)}"]
    )


def a_value(chance: random.Random, odd: float, kind: str) -> Any:
    if chance.random() < odd:
        return chance.choice([*ODD_VALUES, *(f"literal {literal}" for literal in ODD_LITERALS)])
    if kind == "document":
        return a_document(chance, odd)
    usual: dict[str, list[Any]] = {
        "text": [a_plain_text(chance)],
        "number": [0, 1, 2**53, 0.5, -0.0, 1e-9, 1e300],
        "integer": [0, -3, 2**63 - 1],
        "flag": [True, False],
    }
    return chance.choice([None, *usual[kind] * 2])


def an_object(chance: random.Random, odd: float, **kinds: str) -> dict[str, Any]:
    made = {
        key: a_value(chance, odd, kind) for kind, keys in kinds.items() for key in keys.split() if chance.random() < 0.5
    }
    if chance.random() < odd:
        made[chance.choice(["newer", "id", "side", "sample_id"])] = chance.choice(ODD_VALUES)
    return made


def a_map(chance: random.Random, odd: float, kind: str) -> Any:
    if chance.random() < odd:
        return a_value(chance, 1, kind)
    question_ids = [f"q_{number:02}" for number in range(chance.randrange(5))]
    if chance.random() < 0.3:
        chance.shuffle(question_ids)
        question_ids = question_ids[1:]
    return chance.choice([None, {question_id: a_value(chance, odd, kind) for question_id in question_ids}])


def a_judge(chance: random.Random, odd: float) -> dict[str, Any]:
    judge = an_object(
        chance, odd, text="judge_model provider error corruption_reason", number="yes_rate judge_mean",
        flag="parse_ok corrupted looped", integer="repeats repeats_held disputed",
        document="loop_reasons loop_commands metric_scores",
    )  # fmt: skip
    maps = {"answers": "text", "explanations": "text", "scores": "number", "distributions": "document"}
    judge |= {key: a_map(chance, odd, kind) for key, kind in maps.items() if chance.random() < 0.8}
    side = chance.choice(["previous_king", "challenger"])
    return judge if chance.random() < odd else {"side": side, **judge}


def a_question(chance: random.Random, odd: float) -> Any:
    question = an_object(
        chance, odd, text="text example_bad requires category tag evidence milestone milestone_statement",
        integer="step rung", number="weight",
    )  # fmt: skip
    return (
        chance.choice(ODD_VALUES) if chance.random() < odd else {"id": a_value(chance, odd, "text") or "q", **question}
    )


def a_scoring_result(chance: random.Random, odd: float) -> dict[str, Any]:
    result = an_object(
        chance, odd, number="king_score challenger_score sample_score", text="scoring_mode error",
        flag="king_amputated_thinking chal_amputated_thinking scored",
        document="question_source order categories category_source",
    )  # fmt: skip
    for key, make in (("questions", a_question), ("judge_results", a_judge)):
        if chance.random() < 0.9:
            result[key] = chance.choice([None, *([make(chance, odd) for _ in range(n)] for n in range(4))])
    return result


def a_legacy_judge(chance: random.Random, odd: float) -> dict[str, Any]:
    return a_judge(chance, odd) | an_object(chance, odd, text="eval_run_id", document="order", number="sample_score")


def a_score_line(make: Callable[[random.Random, float], dict[str, Any]], chance: random.Random, odd: float) -> bytes:
    if chance.random() < odd:
        return a_line(chance, 1)
    record = {"sample_id": a_value(chance, odd, "text") or "a", **make(chance, odd)}
    # With white space before a colon a text is not proven.
    separators = chance.choice([(",", ":"), (", ", ": "), (" , ", "\t: ")][: 3 if odd else 2])
    text = json.dumps(record, ensure_ascii=chance.random() < 0.5, separators=separators)
    text = re.sub(r'"literal ((?:[^"\\]|\\.)*)"', lambda found: json.loads(f'"{found[1]}"'), text)
    if chance.random() < odd:
        # A key of the text once more, further on.
        text = re.sub(r'("[a-z_]+"\s*:)(.*)\}', r"\1\2, \1 null}", text, count=1)
    return text.encode("utf-8", "surrogatepass")


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
    # As written, since 0.0 and -0.0 are equal.
    assert repr(at_once) == repr(landed(line_by_line, tree.folder / "line_by_line"))
    return at_once


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


LEGACY = f"sn97/runs/{RUN}/judge-results.jsonl"
MAKERS: dict[str, Callable[[random.Random, float], bytes]] = {
    SAMPLES: a_line,
    SAMPLES.replace("generated-samples", "duel-transcript") + ".gz": a_line,
    SCORES: partial(a_score_line, a_scoring_result),
    LEGACY: partial(a_score_line, a_legacy_judge),
}


@pytest.mark.parametrize("odd", [0.0, 0.002, 0.02, 0.2])
@pytest.mark.parametrize("name", MAKERS)
def test_both_ways_land_the_same(tree: Tree, monkeypatch: pytest.MonkeyPatch, odd: float, name: str) -> None:
    monkeypatch.setattr(artifacts, "FLUSH_BYTES", 4000)
    monkeypatch.setattr(columnar, "_PORTION_BYTES", 1500)
    chance = random.Random(f"{odd} {name}")
    lines = [MAKERS[name](chance, odd) for _ in range(600)]
    tree.write_lines(name, *lines)
    result, tables = both_ways(tree, name)
    assert result.row["n_rows"] + result.row["n_quarantined"] == result.row["n_lines"]
    assert bool(result.row["n_quarantined"]) is (odd > 0)
    assert len(tables[result.tables[0]]) == result.row["n_rows"]


def columns_of(lines: Sequence[bytes], name: str = SAMPLES) -> Any:
    kind, facts = classify(tuple(name.split("/")[1:])) or pytest.fail("a kind of its own")
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


# scores --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [SCORES, LEGACY])
def test_columns_take_every_clean_line_of_scores(name: str) -> None:
    chance = random.Random(name)
    for _ in range(300):
        assert columns_of([MAKERS[name](chance, 0) for _ in range(3)], name) is not None


JUDGE = b'"sample_id":"a","side":"challenger"'


@pytest.mark.parametrize(
    "fields",
    [
        b'"side":"challenger"',
        b'"sample_id":"a"',
        b'"sample_id":null,"side":"challenger"',
        b'"sample_id":"a","side":"king"',
        b'"sample_id":"%s","side":"challenger"' % (b"x" * 2001),
        JUDGE + b',"judge_model":"%s"' % (b"x" * 2001),
        JUDGE + b',"answers":{"%s":"1"}' % (b"x" * 2001),
        JUDGE + b',"newer":null',
        JUDGE + b',"sample_id":"a"',
        JUDGE + b',"provider":null,"provider":null',
        JUDGE + b',"provider" : "a","pro\\u0076ider":"a"',
        JUDGE + b',"answers":{"q":"1","q":"1"}',
        JUDGE + b',"distributions":{"q":{"A":1,"A":1}}',
        JUDGE + b',"metric_scores":[{"a":{"b":1,"b":2}}]',
        JUDGE + b',"metric_scores":1e400',
        JUDGE + b',"metric_scores":NaN',
        JUDGE + b',"metric_scores":"\\u0000"',
        JUDGE + b',"metric_scores":"\\ud800"',
        JUDGE + b',"metric_scores":"\xff"',
        JUDGE + b',"metric_scores":' + b"[" * 200 + b"]" * 200,
        JUDGE + b',"answers":[]',
        JUDGE + b',"explanations":{"q":1}',
        JUDGE + b',"scores":{"q":true}',
        JUDGE + b',"scores":{"q":1e400}',
        JUDGE + b',"repeats":9223372036854775808',
        JUDGE + b',"repeats":1.5',
        JUDGE + b',"parse_ok":1',
        JUDGE + b',"error":{}',
    ],
)
def test_what_lines_would_refuse_of_a_judge_columns_do_not_take(fields: bytes) -> None:
    clean = b"{" + JUDGE + b',"answers":{"q":"1"}}'
    assert columns_of([clean], LEGACY) is not None
    assert columns_of([clean, b"{" + fields + b"}"], LEGACY) is None


@pytest.mark.parametrize(
    "fields",
    [
        b'"questions":[{}]',
        b'"questions":[{"id":null}]',
        b'"questions":[null]',
        b'"questions":{}',
        b'"questions":[{"id":"q","id":"q"}]',
        b'"questions":[{"id":"q","newer":1}]',
        b'"questions":[{"id":"q","step":true}]',
        b'"judge_results":[{}]',
        b'"judge_results":[{"side":"challenger","side":"challenger"}]',
        b'"judge_results":[],"judge_results":[]',
        b'"question_source":{"a":1,"a":1}',
    ],
)
def test_what_lines_would_refuse_of_a_scoring_result_columns_do_not_take(fields: bytes) -> None:
    clean = b'{"sample_id":"a","questions":[{"id":"q"}],"judge_results":[{"side":"challenger"}]}'
    assert columns_of([clean], SCORES) is not None
    assert columns_of([clean, b'{"sample_id":"b",' + fields + b"}"], SCORES) is None


def test_columns_take_no_deeper_nesting_than_lines() -> None:
    line = b'{"sample_id":"a","judge_results":[{"side":"challenger","distributions":{"q":%s}}]}'
    assert columns_of([line % (b"[" * 196 + b"]" * 196)], SCORES) is not None
    assert columns_of([line % (b"[" * 197 + b"]" * 197)], SCORES) is None


@pytest.mark.parametrize("below", [b'"questions":[%s]', b'"judge_results":[%s]'])
def test_an_identifier_that_very_many_rows_repeat_is_not_repeated_at_once(below: bytes) -> None:
    element = b'{"id":"q"}' if b"questions" in below else b'{"side":"challenger"}'
    line = b'{"sample_id":"%s",' % (b"s" * 2000) + below + b"}"
    assert columns_of([line % b",".join([element] * 2000)], SCORES) is not None
    assert columns_of([line % b",".join([element] * 3000)], SCORES) is None


def test_numbers_in_documents_keep_their_spelling(tree: Tree) -> None:
    chance = random.Random(5)
    numbers = [
        0.0001,
        0.00009999,
        1e16,
        9999999999999998.0,
        -1e-5,
        1e22,
        5e-324,
        1.7976931348623157e308,
        -0.0,
        0.1,
        1e15,
    ]
    numbers += [chance.uniform(-1, 1) * 10 ** chance.randrange(-12, 24) for _ in range(500)]
    lines = [
        json.dumps({"sample_id": "a", "category_source": [number], "order": 10**20}).encode() for number in numbers
    ]
    assert all(columns_of([line], SCORES) is not None for line in lines)
    tree.write_lines(SCORES, *lines)
    _, tables = both_ways(tree, SCORES)
    assert [row["category_source"] for row in tables["sn97_scoring_results"]] == [f"[{number!r}]" for number in numbers]


def test_both_writers_of_json_write_texts_and_whole_numbers_alike() -> None:
    for start in range(0, 0x110000, 0x1000):
        text = "".join(chr(code) for code in range(start, start + 0x1000) if not 0xD800 <= code < 0xE000)
        value: dict[str, Any] = {text: [text, {}, [], None, True, False, start, -start, 10**30 + start]}
        assert msgspec.json.encode(value).decode() == dump(value)


def test_a_refused_line_of_scores_leaves_its_neighbours_their_answers(tree: Tree) -> None:
    def line(sample_id: str, **fields: Any) -> dict[str, Any]:
        judge = {"side": "challenger", "answers": {"q_01": "1", "q_02": None}, "explanations": {"q_02": "e"}, **fields}
        return {"sample_id": sample_id, "questions": [{"id": "q_01"}], "judge_results": [judge, judge]}

    tree.write_lines(SCORES, line("a"), line("b", explanations={"q_02": 2}), line("c", repeats=1.0))
    _, tables = both_ways(tree, SCORES)
    assert [(row["line"], row["detail"]) for row in tables["quarantine"]] == [
        (2, "answers.explanation: expected text, found integer")
    ]
    rows = [(row["line"], row["judge_index"], row["question_id"], row["answer"]) for row in tables["sn97_answers"]]
    assert rows == [
        (line, judge, question, answer)
        for line in (1, 3)
        for judge in (0, 1)
        for question, answer in (("q_01", '"1"'), ("q_02", "null"))
    ]
    for table in ("sn97_scoring_results", "sn97_questions", "sn97_judge_results"):
        assert {row["line"] for row in tables[table]} == {1, 3}


def test_a_line_makes_no_more_answers_than_its_size_and_repeats_no_long_name(tree: Tree) -> None:
    def line(sample_id: str, n_questions: int, n_judges: int, **question: str) -> dict[str, Any]:
        questions = [{"id": f"q_{number}", **question} for number in range(n_questions)]
        return {"sample_id": sample_id, "questions": questions, "judge_results": [{"side": "challenger"}] * n_judges}

    tree.write_lines(
        SCORES,
        line("a", 100, 100),
        line("b", 101, 100),
        line("c", 10_001, 0),
        *(line(name, 1, 1, **{name: "x" * 2001}) for name in ("id", "tag", "requires", "category", "text")),
        {"sample_id": "d", "judge_results": [{"side": "challenger", "scores": {"x" * 2001: 1}}]},
    )
    _, tables = both_ways(tree, SCORES)
    assert [(row["line"], row["reason"], row["detail"]) for row in tables["quarantine"]] == [
        (2, "too_many_answers", "101 questions, 100 judge records"),
        *(
            (number, "wrong_type", f"{place}: expected an identifier, found a text of 2001 characters")
            for number, place in (
                (4, "questions.id"),
                (5, "questions.tag"),
                (6, "questions.requires"),
                (7, "questions.category"),
                (9, "question id of a judge record"),
            )
        ),
    ]
    assert [row["line"] for row in tables["sn97_scoring_results"]] == [1, 3, 8]


def test_rows_that_columns_gave_are_written_in_slices(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.landing.rows.SLICE_ROWS", 7)
    answers = {f"q_{number:02}": "1" for number in range(23)}
    tree.write_lines(SCORES, {"sample_id": "a", "judge_results": [{"side": "challenger", "answers": answers}]})
    _, tables = both_ways(tree, SCORES)
    assert [row["question_id"] for row in tables["sn97_answers"]] == list(answers)
    (file,) = (tree.folder / "at_once" / "sn97_answers").glob("[0-9a-f]*[0-9a-f].parquet")
    metadata = pq.read_metadata(file)
    assert [metadata.row_group(index).num_rows for index in range(metadata.num_row_groups)] == [7, 7, 7, 2]
