"""Lines and bytes that break readers: what is kept, what is quarantined, and where it says it was."""

import gzip
import hashlib
import json
import random
import zlib
from pathlib import Path
from typing import Any

import pytest
from assay.landing.json_text import TextCounts, parse_object
from assay.landing.lines import CHUNK_BYTES, ByteSource, LineReader
from landing_tree import OWN, SAMPLES, SCORES, Tree, judge, own, sample, score


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


# what is one line, and where it stands -------------------------------------------------------------------


def test_an_empty_file_and_blank_lines_are_no_lines(tree: Tree) -> None:
    tree.write(OWN, b"")
    tree.write("trajectories/blank.jsonl", b"\n\r\n   \n\t\n")
    tree.write("trajectories/bom.jsonl", b"\xef\xbb\xbf")
    tree.land()
    for name, blank in ((OWN, 0), ("trajectories/blank.jsonl", 4), ("trajectories/bom.jsonl", 1)):
        row = tree.artifact(name)
        assert (row["status"], row["n_lines"], row["n_blank_lines"], row["n_rows"]) == ("empty", 0, blank, 0)
    assert tree.refused() == []


def test_byte_order_mark_crlf_blank_lines_and_no_final_newline(tree: Tree) -> None:
    first, second = json.dumps(own("a")).encode(), json.dumps(own("b")).encode()
    data = b"\xef\xbb\xbf" + first + b"\r\n\r\n{bad\r\n \n" + second
    tree.write(OWN, data)
    tree.land()
    assert tree.values("own_trajectories", "line", "trajectory_id") == [(1, "a"), (5, "b")]
    assert tree.refused() == [(3, data.index(b"{bad"), "invalid_json")]
    assert tree.values("quarantine", "excerpt") == ["{bad\r"]
    assert tree.artifact(OWN)["n_blank_lines"] == 2


def test_byte_offsets_count_in_the_uncompressed_text(tree: Tree) -> None:
    lines = [b"\xef\xbb\xbf" + json.dumps(own("a")).encode(), b"[1]", b"", b"\xff\xfe", b'"text"']
    tree.write("trajectories/own.jsonl.gz", gzip.compress(b"\n".join(lines)))
    tree.land()
    offsets = [sum(len(line) + 1 for line in lines[:index]) for index in range(len(lines))]
    assert tree.refused() == [
        (2, offsets[1], "not_an_object"),
        (4, offsets[3], "invalid_utf8"),
        (5, offsets[4], "not_an_object"),
    ]


def test_only_a_line_feed_ends_a_line(tree: Tree) -> None:
    contents = [f"one{separator}two" for separator in "\x7f\x85\u2028\u2029\u00a0"]
    tree.write(OWN, b"".join(json.dumps(own("a", c), ensure_ascii=False).encode() + b"\n" for c in contents))
    tree.write("trajectories/controls.jsonl", b"".join(b'{"a":"' + bytes([c]) + b'"}\n' for c in b"\x0b\x0c\x1c\r"))
    tree.land()
    assert tree.values("own_messages", "content") == contents
    assert tree.refused() == [(line, 10 * (line - 1), "invalid_json") for line in (1, 2, 3, 4)]


def test_white_space_around_a_value_is_allowed_and_other_bytes_are_not(tree: Tree) -> None:
    body = json.dumps(own("a")).encode()
    tree.write(OWN, b" \t" + body + b" \t\r\n" + body + b"TRAIL\n" + body + body + b"\n\x0c" + body + b"\n")
    tree.land()
    assert tree.values("own_trajectories", "line") == [1]
    assert [reason for _, _, reason in tree.refused()] == ["invalid_json"] * 3


_UNSOUND = [
    (b"{", "invalid_json", "Expecting property name enclosed in double quotes at character 1"),
    (b'{"a":1,}', "invalid_json", None),
    (b"{'a':1}", "invalid_json", None),
    (b'{"a":"\x01"}', "invalid_json", None),
    (b'{"a":"x\x00y"}', "invalid_json", None),
    (b'{"a":"\\x"}', "invalid_json", None),
    (b'{"a":"\\ud8"}', "invalid_json", None),
    (b'{"a":01}', "invalid_json", None),
    (b'{"a":.5}', "invalid_json", None),
    (b'{"a":+1}', "invalid_json", None),
    (b"null", "not_an_object", "found null"),
    (b"[]", "not_an_object", "found array"),
    (b'"x"', "not_an_object", "found text"),
    (b"12", "not_an_object", "found integer"),
    (b"1.5", "not_an_object", "found number"),
    (b"true", "not_an_object", "found boolean"),
    (b'{"a":NaN}', "non_finite_number", "the literal NaN"),
    (b'{"a":Infinity}', "non_finite_number", "the literal Infinity"),
    (b'{"a":-Infinity}', "non_finite_number", "the literal -Infinity"),
    (b'{"a":1e999}', "non_finite_number", "1e999 overflows to infinity"),
    (b'{"a":-1E400}', "non_finite_number", "-1E400 overflows to infinity"),
    (b'{"a":1,"a":1}', "duplicate_key", "'a'"),
    (b'{"a":{"b":1,"c":2,"b":3}}', "duplicate_key", "'b'"),
    (b'{"a":1,"\\u0061":2}', "duplicate_key", "'a'"),
    (b'{"a":' + b"9" * 5000 + b"}", "number_out_of_range", "an integer of thousands of digits"),
    (b'{"a":' + b"[" * 300 + b"]" * 300 + b"}", "nested_too_deeply", None),
    (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "nested_too_deeply", None),
    (b"[" * 1_000_000, "nested_too_deeply", None),
    (b"\xff{}", "invalid_utf8", "byte 0 of the line"),
    (b'{"a":"\xc3"}', "invalid_utf8", "byte 6 of the line"),
    (b'{"a":"\xc0\x80"}', "invalid_utf8", "byte 6 of the line"),
    (b'{"a":"\xf4\x90\x80\x80"}', "invalid_utf8", "byte 6 of the line"),
]


def test_a_line_that_is_not_one_sound_object_is_quarantined(tree: Tree) -> None:
    lines: list[Any] = [own("first")]
    for line, _, _ in _UNSOUND:
        lines += [line, own("between")]
    tree.write_lines(OWN, *lines)
    tree.land()
    assert tree.values("own_trajectories", "line") == list(range(1, len(lines) + 1, 2))
    found = tree.rows("quarantine")
    assert len(found) == len(_UNSOUND)
    data = (tree.raw / OWN).read_bytes()
    for row, (line, reason, detail) in zip(found, _UNSOUND, strict=True):
        assert (row["source"], row["file"], row["reason"]) == ("trajectories", OWN, reason), line[:40]
        assert data[row["byte_offset"] :].startswith(line + b"\n")
        assert row["excerpt"] == line.decode("utf-8", "replace")[:200]
        if detail is not None:
            assert row["detail"] == detail


def test_the_deepest_nesting_is_the_same_for_every_caller(tree: Tree) -> None:
    depths = (198, 199, 200, 201, 450, 700, 990)
    for depth in depths:
        # The record itself is the first level; the strings make every level be walked once more.
        nested = '[{"\\u0000":"\\ud800","k":' * (depth // 2) + "[" * (depth % 2) + "1"
        nested += "]" * (depth % 2) + "}]" * (depth // 2)
        tree.write_lines(
            f"trajectories/{depth}.jsonl", f'{{"messages":[{{"role":"user","text":"x"}}],"extra":{nested}}}'.encode()
        )
    tree.land()
    for depth, extra in zip((198, 199), tree.values("own_trajectories", "other_fields"), strict=True):
        assert extra.count("[") + extra.count("{") in (depth + 1, 397 - depth + 1)
    assert tree.values("quarantine", "reason") == ["nested_too_deeply"] * 5


def test_keys_that_differ_by_case_are_different_keys(tree: Tree) -> None:
    tree.write_lines(OWN, {**own("a"), "ID": "b", "Messages": 1})
    tree.land()
    assert tree.values("own_trajectories", "trajectory_id", "other_fields") == [("a", '{"ID":"b","Messages":1}')]


# strings -------------------------------------------------------------------------------------------------


def test_a_late_string_is_kept_after_25000_nulls(tree: Tree) -> None:
    name = f"sn97/runs/{'0' * 8}/progress.jsonl"
    tree.write(name, b'{"message":null}\n' * 25_000 + b'{"message":"late"}\n')
    tree.land()
    messages = tree.values("sn97_progress_events", "line", "message")
    assert len(messages) == 25_001
    assert [pair for pair in messages if pair[1] is not None] == [(25_001, "late")]


_IDENTITIES = [
    "2026-08-24",
    "BBD05AE7-0000-4000-8000-000000000001",
    "007",
    "1e5",
    "true",
    "null",
    "NaN",
    "",
    " padded ",
    "mini-coder/data/train-00001.parquet:17:1#r1",
    "a/b\\c:'\"\n\t;--",
    "\u00e4\u4e2d\U0001f600\u202e",
    "e\u0301",
    "a\u0000b",
    "x" * 2000,
]


def test_an_identifier_stays_the_text_it_is(tree: Tree) -> None:
    tree.write_lines(SAMPLES, *(sample(identity, challenger_turns=[{"role": "user"}]) for identity in _IDENTITIES))
    tree.land()
    assert tree.values("sn97_generated_samples", "sample_id") == _IDENTITIES
    assert tree.values("sn97_messages", "sample_id") == _IDENTITIES
    assert tree.artifact(SAMPLES)["n_nul_characters"] == 1


def test_an_identifier_too_long_to_be_one_is_refused_since_every_row_below_repeats_it(tree: Tree) -> None:
    long = "x" * 2001
    tree.write_lines(SAMPLES, sample(long, challenger_turns=[{}] * 1000))
    tree.write_lines(SCORES, score("a", judge_results=[judge(judge_model=long)]))
    tree.write_json("sn120/evals/chal-1.json", {"teacher_refs": {long: []}})
    tree.land()
    assert sorted(tree.values("quarantine", "detail")) == [
        "judge_model: expected an identifier, found a text of 2001 characters",
        "sample_id: expected an identifier, found a text of 2001 characters",
        "teacher_refs key: expected an identifier, found a text of 2001 characters",
    ]


_SURROGATES = [
    (rb"\ud835", "\ufffd", 1),
    (rb"x\udc00y", "x\ufffdy", 1),
    (rb"\ud83d\ude00", "\U0001f600", 0),
    (rb"\uD83D\uDE00\uD83D", "\U0001f600\ufffd", 1),
    (rb"\ude00\ud83d", "\ufffd\ufffd", 2),
    (rb"\\ud835", "\\ud835", 0),
    (b"\xed\xa0\x80", "\ufffd", 1),
    (b"\xed\xa0\xbd\xed\xb8\x80", "\ufffd\ufffd", 2),
    (rb"\ud83d" + b"\xed\xb8\x80", "\ufffd\ufffd", 2),
    (b"\xf0\x9f\x98\x80", "\U0001f600", 0),
]


def test_a_lone_surrogate_is_replaced_and_counted(tree: Tree) -> None:
    for index, (written, _, _) in enumerate(_SURROGATES):
        line = b'{"messages":[{"role":"user","content":"<' + written + b'>"}]}'
        tree.write_lines(f"trajectories/{index}.jsonl", line)
    tree.land()
    contents = dict(tree.values("own_messages", "artifact_id", "content"))
    for index, (written, landed, replaced) in enumerate(_SURROGATES):
        assert contents[f"trajectories/{index}.jsonl"] == f"<{landed}>", written
        assert tree.artifact(f"trajectories/{index}.jsonl")["n_surrogates_replaced"] == replaced, written


def test_surrogates_in_keys_are_replaced_and_two_that_become_one_are_a_duplicate(tree: Tree) -> None:
    body = b'"messages":[{"role":"user","content":"x"}]}'
    tree.write_lines(OWN, b'{"\\ud800":1,' + body, b'{"\\ud800":1,"\\ud801":2,' + body)
    tree.land()
    assert tree.values("own_trajectories", "other_fields") == ['{"\ufffd":1}']
    assert [(line, reason) for line, _, reason in tree.refused()] == [(2, "duplicate_key")]


def test_nul_characters_are_kept_and_counted(tree: Tree) -> None:
    tree.write_lines(OWN, own("a", "x\0y\0", note="\0"))
    log = f"sn97/runs/{'0' * 8}/remote-logs.txt"
    tree.write(log, b"state=a\0b\n")
    tree.land()
    assert tree.values("own_messages", "content") == ["x\0y\0"]
    assert tree.artifact(OWN)["n_nul_characters"] == 3
    assert tree.values("sn97_log_entries", "value") == ["a\0b"]
    assert tree.artifact(log)["n_nul_characters"] == 1


def test_long_actions_here_documents_and_nul_land_whole(tree: Tree) -> None:
    actions = ["```bash\n" + "x" * 100_000 + "\n```", "```bash\ncat > r.md <<'E'\n```py\nx\n```\nE\n```", "a\0b", ""]
    references = [{"z": "", "y": action, "lp_own": -0.5, "lp_empty": -1} for action in actions]
    tree.write_json("sn120/evals/chal-1.json", {"turn_ids": ["t:0"], "teacher_refs": {"t:0": references}})
    tree.land()
    assert tree.values("sn120_teacher_references", "action") == actions
    assert tree.artifact("sn120/evals/chal-1.json")["n_nul_characters"] == 1


def test_an_excerpt_never_splits_a_character(tree: Tree) -> None:
    lines = [letter * 500 for letter in ("a\u00e4", "\u4e2d", "\U0001f600", "a\U0001f600", "ab\U0001f600\u00e4")]
    lines += ["x" * shift + "\U0001f600" * 400 for shift in (1, 2, 3)]
    tree.write(OWN, "\n".join(lines).encode())
    tree.write("trajectories/long.jsonl", "\n".join("\u4e2d" * (400_000 + n) for n in range(3)).encode())
    tree.land(max_line_megabytes=1)
    found = {(row["file"], row["line"]): row for row in tree.rows("quarantine")}
    for number, line in enumerate(lines, 1):
        assert found[OWN, number]["excerpt"] == line[:200]
    for number in (1, 2, 3):
        row = found["trajectories/long.jsonl", number]
        assert (row["reason"], row["excerpt"]) == ("line_too_long", "\u4e2d" * 200)


# numbers -------------------------------------------------------------------------------------------------


_WHOLE_NUMBERS = [
    ("3", 3),
    ("-0", 0),
    ("3.0", 3),
    ("1e3", 1000),
    ("-1E2", -100),
    ("9007199254740992.0", 2**53),
    ("9223372036854775807", 2**63 - 1),
    ("-9223372036854775808", -(2**63)),
    ("null", None),
    ("2.7", "wrong_type"),
    ("true", "wrong_type"),
    ('"3"', "wrong_type"),
    ("[3]", "wrong_type"),
    ('{"a":3}', "wrong_type"),
    ("9007199254740994.0", "wrong_type"),
    ("1.8446744073709550e19", "wrong_type"),
    ("1e300", "wrong_type"),
    ("1e-5", "wrong_type"),
    ("9223372036854775808", "number_out_of_range"),
    ("-9223372036854775809", "number_out_of_range"),
    ("1" + "0" * 4000, "number_out_of_range"),
]


def _compare(tree: Tree, table: str, column: str, cases: list[tuple[str, Any]]) -> None:
    kept = dict(tree.values(table, "line", column))
    reasons = dict(tree.values("quarantine", "line", "reason"))
    assert len(kept) + len(reasons) == len(cases)
    for number, (literal, landed) in enumerate(cases, 1):
        if type(landed) is str:
            assert reasons.get(number) == landed, literal
        else:
            assert number in kept and repr(kept[number]) == repr(landed), literal


def test_whole_numbers(tree: Tree) -> None:
    name = f"sn97/runs/{'0' * 8}/progress.jsonl"
    tree.write_lines(name, *(b'{"sequence":' + literal.encode() + b"}" for literal, _ in _WHOLE_NUMBERS))
    tree.land()
    _compare(tree, "sn97_progress_events", "sequence", _WHOLE_NUMBERS)
    assert all(detail.startswith("sn97_progress_events.sequence: ") for detail in tree.values("quarantine", "detail"))


_SEEDS: list[tuple[str, int | str]] = [
    ("18446744073709551615", 2**64 - 1),
    ("9223372036854775808", 2**63),
    ("0", 0),
    ("18446744073709551616", "number_out_of_range"),
    ("-1", "number_out_of_range"),
    ("1.5", "wrong_type"),
    ('"1"', "wrong_type"),
]


def test_seeds_are_unsigned_64_bit(tree: Tree) -> None:
    for index, (literal, _) in enumerate(_SEEDS):
        tree.write_json(f"sn120/evals/chal-{index}.json", b'{"slice":{"seed":' + literal.encode() + b"}}")
    tree.land()
    found = dict(tree.values("sn120_duels", "challenge_id", "slice_seed"))
    found |= {f"chal-{file[17:-5]}": reason for file, reason in tree.values("quarantine", "file", "reason")}
    assert found == {f"chal-{index}": landed for index, (_, landed) in enumerate(_SEEDS)}


_DOUBLES: list[tuple[str, float | str | None]] = [
    ("0.1", 0.1),
    ("1", 1.0),
    ("-0.0", -0.0),
    ("1e-400", 0.0),
    ("4.9e-324", 5e-324),
    ("1.7976931348623157e308", 1.7976931348623157e308),
    ("123456789012345678901234567890", 1.2345678901234568e29),
    ("null", None),
    ("true", "wrong_type"),
    ('"0.5"', "wrong_type"),
    ("[]", "wrong_type"),
    ("1" + "0" * 400, "number_out_of_range"),
    ("1e309", "non_finite_number"),
    ("NaN", "non_finite_number"),
]


def test_doubles(tree: Tree) -> None:
    lines = (b'{"sample_id":"a","king_score":' + literal.encode() + b"}" for literal, _ in _DOUBLES)
    tree.write_lines(SCORES, *lines)
    tree.land()
    _compare(tree, "sn97_scoring_results", "king_score", _DOUBLES)


def test_numbers_inside_json_columns_keep_every_digit_of_a_whole_number(tree: Tree) -> None:
    tree.write_lines(
        OWN, b'{"messages":[{"role":"user","text":"x"}],"n":123456789012345678901234567890,"x":0.1000,"y":-0.0,"z":1E2}'
    )
    tree.land()
    assert tree.values("own_trajectories", "other_fields") == [
        '{"n":123456789012345678901234567890,"x":0.1,"y":-0.0,"z":100.0}'
    ]


def test_times_stay_the_text_they_are(tree: Tree) -> None:
    times = ["2026-08-24T23:30:00+02:00", "2026-08-24T21:30:00Z", "2026-08-24T21:30:00.123456+00:00", "yesterday"]
    for index, time in enumerate(times):
        tree.write_json(f"sn97/copy-{index}/state.json", {"updated_at": time})
    tree.land()
    assert sorted(tree.values("sn97_pipeline_states", "updated_at")) == sorted(times)


# answers -------------------------------------------------------------------------------------------------


def test_answers_of_every_shape_stay_what_was_published(tree: Tree) -> None:
    answers = {"q1": "1", "q2": 1, "q3": True, "q4": "yes", "q5": None, "q6": 0.6, "q7": "0", "q8": "", "q9": "T",
               "q10": ["1"], "q11": {"a": 1}, "q12": "\u4e2d\"", "q13": 0, "q14": "null"}  # fmt: skip
    tree.write_lines(SCORES, score("a", judge_results=[judge(answers=answers, explanations={"only": "e"})]))
    tree.land()
    landed = {row["question_id"]: row for row in tree.rows("sn97_answers")}
    assert list(landed) == [*answers, "only"]
    for question_id, answer in answers.items():
        assert json.loads(landed[question_id]["answer"]) == answer
        assert type(json.loads(landed[question_id]["answer"])) is type(answer)
        assert landed[question_id]["explanation"] is None
    assert landed["only"]["answer"] is None and landed["only"]["explanation"] == "e"
    assert tree.values("sn97_judge_results", "n_answers") == [15]


def test_300_question_ids_are_300_rows(tree: Tree) -> None:
    answers = {f"q_{index:03}": str(index % 2) for index in range(300)}
    tree.write_lines(SCORES, score("a", judge_results=[judge(answers=answers)]))
    tree.land()
    assert tree.values("sn97_answers", "question_id", "answer") == [(k, f'"{v}"') for k, v in answers.items()]


def test_missing_maps_error_sides_and_zero_turn_sides(tree: Tree) -> None:
    tree.write_lines(
        SCORES,
        {"sample_id": "a", "judge_results": [{"side": "previous_king"}, {"side": "challenger", "answers": None}]},
        {"sample_id": "b", "error": "ValueError: x", "questions": [], "judge_results": [], "king_score": None},
        {"sample_id": "c", "questions": None, "judge_results": None},
        {"sample_id": "d", "judge_results": [{"side": "king"}]},
        {"sample_id": "e", "judge_results": [{}]},
        {"sample_id": "f", "judge_results": [[]]},
        {"sample_id": "g", "judge_results": {}},
    )
    tree.write_lines(
        SAMPLES,
        sample("zero", previous_king_turns=[], challenger_turns=None, king_error=None, chal_error="missing_generation"),
        sample("none"),
    )
    tree.land()
    assert tree.values("sn97_judge_results", "side", "n_answers") == [("king", 0), ("challenger", 0)]
    assert tree.values("sn97_scoring_results", "sample_id", "error", "n_questions") == [
        ("a", None, 0),
        ("b", "ValueError: x", 0),
        ("c", None, 0),
    ]
    assert tree.values("sn97_generated_samples", "sample_id", "n_king_messages", "n_challenger_messages") == [
        ("zero", 0, None),
        ("none", None, None),
    ]
    assert tree.values("sn97_generated_samples", "challenger_error") == ["missing_generation", None]
    assert tree.values("quarantine", "line", "reason", "detail") == [
        (4, "wrong_type", "side: expected previous_king or challenger, found 'king'"),
        (5, "missing_field", "side"),
        (6, "wrong_type", "judge_results[0]: expected object, found array"),
        (7, "wrong_type", "judge_results: expected array, found object"),
    ]


def test_two_rows_for_one_sample_both_land(tree: Tree) -> None:
    tree.write_lines(SCORES, score("a", king_score=0.1), score("a", king_score=0.2))
    tree.land()
    assert tree.values("sn97_scoring_results", "line", "sample_id", "king_score") == [(1, "a", 0.1), (2, "a", 0.2)]


def test_duels_without_rows_references_or_reference_lists(tree: Tree) -> None:
    base = {"turn_ids": ["t:0", "t:1"], "verdict": {"challenger_wins": False}}
    empty = {**base, "king_rows": [], "challenger_rows": [{"turn_id": "t:0", "valid": False, "miner": "challenger"}]}
    tree.write_json("sn120/evals/chal-1.json", {**empty, "teacher_refs": {"t:0": []}})
    tree.write_json("sn120/evals/chal-2.json", base)
    tree.write_json("sn120/evals/chal-3.json", {**base, "teacher_refs": {"t:0": None}, "king_rows": None})
    tree.write_json("sn120/evals/chal-4.json", {**base, "teacher_refs": []})
    tree.land()
    found = {row["challenge_id"]: row for row in tree.rows("sn120_duels")}
    counts = ("n_turn_ids", "n_turns_with_references", "n_teacher_references", "n_king_rows", "n_challenger_rows")
    assert {key: tuple(row[name] for name in counts) for key, row in found.items()} == {
        "chal-1": (2, 1, 0, 0, 1),
        "chal-2": (2, None, None, None, None),
        "chal-3": (2, 1, 0, None, None),
    }
    turns = sorted(tree.values("sn120_duel_turns", "challenge_id", "turn_id", "n_references"), key=str)
    assert turns[:2] == [("chal-1", "t:0", 0), ("chal-1", "t:1", None)]
    assert tree.values("quarantine", "file", "detail") == [
        ("sn120/evals/chal-4.json", "teacher_refs: expected object, found array")
    ]


# documents -----------------------------------------------------------------------------------------------


def test_a_document_that_is_none_is_one_quarantined_line(tree: Tree) -> None:
    cases = {b"": "invalid_json", b" \n": "invalid_json", b"[]": "not_an_object", b"{}{}": "invalid_json"}
    for index, data in enumerate(cases):
        tree.write(f"sn120/evals/chal-{index}.json", data)
    tree.land()
    assert sorted(tree.values("quarantine", "file", "line", "byte_offset", "reason")) == [
        (f"sn120/evals/chal-{index}.json", 1, 0, reason) for index, reason in enumerate(cases.values())
    ]
    assert {row["n_lines"] for row in tree.rows("artifacts")} == {1}


def test_a_document_with_byte_order_mark_and_line_breaks_lands(tree: Tree) -> None:
    tree.write("sn97/state.json", b'\xef\xbb\xbf\r\n{\r\n"updated_at":\r\n"x"}\r\n')
    tree.land()
    assert tree.values("sn97_pipeline_states", "updated_at") == ["x"]


# size ----------------------------------------------------------------------------------------------------


def test_lines_of_17_and_40_megabytes_land(tree: Tree) -> None:
    tree.write_lines(OWN, own("a", "x" * 17_000_000), own("b", "y" * 40_000_000), own("c"))
    tree.land()
    lengths = [len(content) for content in tree.values("own_messages", "content")]
    assert lengths == [17_000_000, 40_000_000, 1]


def test_the_limit_on_a_line_is_exact(tree: Tree) -> None:
    def padded(n_bytes: int) -> bytes:
        body = json.dumps(own("a")).encode()
        return body + b" " * (n_bytes - len(body))

    tree.write_lines(OWN, padded(1 << 20), padded((1 << 20) + 1), own("c"))
    tree.land(max_line_megabytes=1)
    assert tree.values("own_trajectories", "line") == [1, 3]
    assert tree.refused() == [(2, (1 << 20) + 1, "line_too_long")]
    assert tree.values("quarantine", "detail") == [f"{(1 << 20) + 1} bytes"]
    assert tree.values("quarantine", "excerpt")[0].startswith('{"id": "a"')


def test_many_rows_of_one_line_are_written_in_slices_and_in_order(tree: Tree) -> None:
    n = 100_000
    tree.write_lines(SAMPLES, sample("s" * 2000, challenger_turns=[{"content": str(index)} for index in range(n)]))
    tree.land()
    assert tree.values("sn97_messages", "message_index") == list(range(n))
    assert tree.values("sn97_generated_samples", "n_challenger_messages") == [n]


def test_a_faulty_line_stands_between_its_neighbours(tree: Tree) -> None:
    long = b'{"sample_id": "long", "prompt": "%s"}' % (b"x" * (1 << 20))
    tree.write_lines(SAMPLES, {"sample_id": "a"}, long, {"sample_id": "b"}, b"", {"sample_id": "c"})
    tree.land(max_line_megabytes=1)
    assert tree.values("sn97_generated_samples", "line", "sample_id") == [(1, "a"), (3, "b"), (5, "c")]
    assert tree.values("quarantine", "line", "reason") == [(2, "line_too_long")]
    assert tree.artifact(SAMPLES)["n_blank_lines"] == 1


def test_a_refused_line_of_scores_leaves_its_neighbours_their_answers(tree: Tree) -> None:
    def line(sample_id: str, **fields: Any) -> dict[str, Any]:
        said = judge(answers={"q_01": "1", "q_02": None}, explanations={"q_02": "e"}, **fields)
        return score(sample_id, questions=[{"id": "q_01"}], judge_results=[said, said])

    tree.write_lines(SCORES, line("a"), line("b", scores={"q_02": "2"}), line("c", repeats=1.0))
    tree.land()
    assert tree.values("quarantine", "line", "detail") == [(2, "sn97_answers.score: expected double, found text")]
    assert tree.values("sn97_answers", "line", "judge_index", "question_id", "answer") == [
        (line, judge_index, question, answer)
        for line in (1, 3)
        for judge_index in (0, 1)
        for question, answer in (("q_01", '"1"'), ("q_02", "null"))
    ]
    for table in ("sn97_scoring_results", "sn97_questions", "sn97_judge_results"):
        assert set(tree.values(table, "line")) == {1, 3}


def test_a_line_makes_no_more_answers_than_its_size_and_repeats_no_long_name(tree: Tree) -> None:
    def line(sample_id: str, n_questions: int, n_judges: int, **question: str) -> dict[str, Any]:
        questions = [{"id": f"q_{number}", **question} for number in range(n_questions)]
        return score(sample_id, questions=questions, judge_results=[{"side": "challenger"}] * n_judges)

    tree.write_lines(
        SCORES,
        line("a", 100, 100),
        line("b", 101, 100),
        line("c", 10_001, 0),
        *(line(name, 1, 1, **{name: "x" * 2001}) for name in ("id", "tag", "requires", "category", "text")),
        score("d", judge_results=[judge(scores={"x" * 2001: 1})]),
    )
    tree.land()
    assert tree.values("quarantine", "line", "reason", "detail") == [
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
    assert tree.values("sn97_scoring_results", "line") == [1, 3, 8]


def test_numbers_in_documents_keep_their_spelling(tree: Tree) -> None:
    numbers = [0.0001, 0.00009999, 1e16, 9999999999999998.0, -1e-5, 1e22, 5e-324, 1.7976931348623157e308, -0.0, 1e15]
    chance = random.Random(5)
    numbers += [chance.uniform(-1, 1) * 10 ** chance.randrange(-12, 24) for _ in range(500)]
    tree.write_lines(SCORES, *(score(category_source=[number], order=10**20) for number in numbers))
    tree.land()
    found = tree.values("sn97_scoring_results", "category_source", "judging_order")
    assert found == [(f"[{number!r}]", str(10**20)) for number in numbers]


# gzip ----------------------------------------------------------------------------------------------------


def _lines(n: int) -> list[bytes]:
    generator = random.Random(7)
    return [json.dumps(own(str(index), generator.randbytes(40).hex())).encode() + b"\n" for index in range(n)]


def test_compression_is_read_from_the_bytes_not_the_name(tree: Tree) -> None:
    data = b"".join(_lines(5))
    for name in ("trajectories/{}.jsonl.gz", "trajectories/{}.jsonl"):
        tree.write(name.format("none"), data)
        tree.write(name.format("gzip"), gzip.compress(data))
    tree.land()
    assert len(tree.rows("own_trajectories")) == 20
    for row in tree.rows("artifacts"):
        assert row["compression"] in row["artifact_id"]
        assert row["content_sha256"] == hashlib.sha256(data).hexdigest()


def test_members_and_zero_padding_are_one_text(tree: Tree) -> None:
    lines = _lines(6)
    members = [b"".join(lines[:2]), lines[2][:10], lines[2][10:], b"", b"".join(lines[3:])]
    padding = b"\0" * (3 << 20)
    tree.write(OWN, b"".join(map(gzip.compress, members[:4])) + padding + gzip.compress(members[4]) + padding)
    tree.land()
    assert tree.values("own_trajectories", "trajectory_id") == [str(index) for index in range(6)]
    assert tree.refused() == []


def test_truncated_gzip_keeps_every_whole_line(tree: Tree) -> None:
    lines = _lines(500)
    whole = gzip.compress(b"".join(lines), mtime=0)
    tree.write(OWN, whole[: len(whole) * 2 // 3])
    tree.land()
    kept = tree.values("own_trajectories", "trajectory_id")
    text = zlib.decompressobj(wbits=31).decompress(whole[: len(whole) * 2 // 3])
    assert kept == [str(index) for index in range(text.count(b"\n"))]
    assert 200 < len(kept) < 500
    line, offset, reason = tree.refused()[0]
    assert (line, reason) == (len(kept) + 1, "truncated_gzip")
    assert offset == text.rindex(b"\n") + 1
    assert tree.values("quarantine", "excerpt") == [text[offset:].decode()[:200]]
    assert tree.artifact(OWN)["sha256"] != tree.artifact(OWN)["content_sha256"]


def test_gzip_cut_in_its_head_or_tail(tree: Tree) -> None:
    cuts = (2, 3, 9, 10, 12, -1, -4, -8)
    for cut in cuts:
        tree.write(f"trajectories/{cut}.jsonl", gzip.compress(b"".join(_lines(2)))[:cut])
    tree.land()
    assert {reason for _, _, reason in tree.refused()} == {"truncated_gzip"}
    rows = {row["artifact_id"]: (row["n_rows"], row["n_quarantined"]) for row in tree.rows("artifacts")}
    assert rows == {f"trajectories/{cut}.jsonl": (2 if cut < 0 else 0, 1) for cut in cuts}


def test_a_stream_that_ends_exactly_with_a_chunk_gives_all_it_holds(tmp_path: Path) -> None:
    compressor = zlib.compressobj(9, wbits=31)
    whole = compressor.compress(b"\0" * (2 * CHUNK_BYTES)) + compressor.flush()
    path = tmp_path / "x"
    for cut in range(20, len(whole), 97):
        path.write_bytes(whole[:cut])
        source = ByteSource(path)
        total = sum(map(len, source.chunks()))
        assert total == len(zlib.decompressobj(wbits=31).decompress(whole[:cut])), cut
        assert source.fault is not None and source.fault.reason == "truncated_gzip"


def test_damage_in_the_middle_keeps_every_line_before_it(tree: Tree) -> None:
    content = b"".join(_lines(3_000))
    whole = bytearray(gzip.compress(content, mtime=0))
    middle = len(whole) // 2
    whole[middle : middle + 64] = b"\xff" * 64
    tree.write(OWN, bytes(whole))
    tree.land()
    stream, pieces = zlib.decompressobj(wbits=31), []
    with pytest.raises(zlib.error):
        for byte in whole:
            pieces.append(stream.decompress(bytes([byte])))
    text = b"".join(pieces)
    # What inflates behind the damage may be noise; every whole line before it is there.
    n_equal = next(index for index, (one, other) in enumerate(zip(text, content, strict=False)) if one != other)
    n_sound = content[:n_equal].count(b"\n")
    assert 1_000 < n_sound < 2_000
    assert tree.values("own_trajectories", "line")[:n_sound] == list(range(1, n_sound + 1))
    line, offset, reason = tree.refused()[-1]
    assert (line, offset, reason) == (text.count(b"\n") + 1, text.rindex(b"\n") + 1, "invalid_gzip")


def test_a_wrong_checksum_and_trailing_bytes_are_said_and_the_lines_kept(tree: Tree) -> None:
    data = gzip.compress(b"".join(_lines(3)))
    tree.write(OWN, data[:-8] + b"\0\0\0\1" + data[-4:])
    tree.write("trajectories/trailing.jsonl.gz", data + b"not gzip")
    tree.land()
    assert len(tree.rows("own_trajectories")) == 6
    assert [reason for _, _, reason in tree.refused()] == ["invalid_gzip"] * 2


def test_a_file_of_tens_of_thousands_of_members_is_read_in_linear_time(tmp_path: Path) -> None:
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(b"{}\n") * 60_000)
    reader = LineReader(ByteSource(path), 1 << 20)
    assert sum(1 for _ in reader) == 60_000


def test_one_line_in_hundreds_of_chunks(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"a" * (64 << 20) + b"\nb\n")
    lines = list(LineReader(ByteSource(path), 256 << 20))
    assert [(line.number, line.byte_offset, len(line.data)) for line in lines] == [
        (1, 0, 64 << 20),
        (2, (64 << 20) + 1, 1),
    ]


# log lines -----------------------------------------------------------------------------------------------


def test_log_lines(tree: Tree) -> None:
    name = f"sn97/runs/{'0' * 8}/remote-logs.txt"
    tree.write(name, b"\xef\xbb\xbfstate=ok\r\n\nevents = a=b \nno equals\n=x\nempty=\n\xff=1\n\xed\xa0\x80=s")
    tree.land()
    assert tree.values("sn97_log_entries", "line", "key", "value") == [
        (1, "state", "ok"),
        (3, "events", "a=b"),
        (6, "empty", ""),
        (8, "\ufffd", "s"),
    ]
    assert [(line, reason) for line, _, reason in tree.refused()] == [
        (4, "not_key_value"),
        (5, "not_key_value"),
        (7, "invalid_utf8"),
    ]
    assert tree.artifact(name)["n_surrogates_replaced"] == 1


@pytest.mark.parametrize(
    ("escaped", "text", "replaced"),
    [
        (r"\ud83d\ude00", "\U0001f600", 0),
        (r"\uD83D\uDE00", "\U0001f600", 0),
        (r"\ud83d", "\ufffd", 1),
        (r"\ude00", "\ufffd", 1),
        (r"\ud83d\ud83d\ude00", "\ufffd\U0001f600", 1),
        (r"\ud83d\ude00\ude00", "\U0001f600\ufffd", 1),
        (r"\ude00\ud83d", "\ufffd\ufffd", 2),
        (r"\\ud83d", "\\ud83d", 0),
        # The backslash is escaped, so what follows it is no first half of anything.
        (r"\\ud83d\ude00", "\\ud83d\ufffd", 1),
        (r"\\\ud83d\ude00", "\\\U0001f600", 0),
        (r"\\\\ud83d\ude00", "\\\\ud83d\ufffd", 1),
    ],
)
def test_a_surrogate_is_replaced_where_its_other_half_is_missing(escaped: str, text: str, replaced: int) -> None:
    counts = TextCounts()
    assert parse_object(f'{{"a":"{escaped}"}}'.encode(), counts) == {"a": text}
    assert counts.surrogates_replaced == replaced
