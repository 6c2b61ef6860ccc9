"""`assay export` as a person calls it."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from assay.cli import main
from assay.mixes import command
from assay.mixes.formats import FORMATS
from assay.mixes.rows import RowRecord, encoded
from assay.mixes.tokenizer import identity_of
from mix_inputs import BUNDLED, PLAIN_TEMPLATE, row, write_tokenizer

ROWS = [
    row(("user", "a", False), ("assistant", "b", True), ("user", "c", False), ("assistant", "d", True), row_id="one"),
    row(("user", "a", False), ("user", "b", False), ("assistant", "c", True), row_id="two", split="validation"),
]


def _write(exports: Path, rows: list[RowRecord], name: str = "credit") -> Path:
    folder = exports / "mixes"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.jsonl").write_bytes(b"".join(encoded(one) + b"\n" for one in rows))
    identity = vars(identity_of(BUNDLED))
    (folder / "mask_audit.jsonl").write_text(
        json.dumps({"id": "one", "is_exported": True, "n_tokens": 777, **identity}) + "\n"
    )
    return exports


@pytest.fixture
def exports(tmp_path: Path) -> Path:
    return _write(tmp_path / "exports", ROWS)


def _call(exports: Path, *words: str) -> int:
    return main(["export", "--exports", str(exports), "--tokenizer", str(BUNDLED), *words])


def _lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_written_with_its_configuration(
    exports: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _call(exports, "--mix", "credit", "--format", name) == 0
    made = FORMATS[name]
    path = exports / "mixes" / "formats" / f"credit.{name}{made.ending}"
    said = capsys.readouterr()
    expected = 3 if made.one_row_a_turn else 2
    if name == "llamafactory-v0":
        expected = 2
        assert "1 rows were left out" in said.err
    assert f"2 rows became {expected} rows in {path}" in said.out
    rows = pq.read_table(path).to_pylist() if made.ending == ".parquet" else _lines(path)
    assert len(rows) == expected
    configuration = path.with_name(f"{path.name}.config{made.snippet_ending}").read_text()
    assert path.name in configuration
    assert name == "slime" or "777" in configuration  # no exported row is longer
    assert path.with_name(f"{path.name}.chat_template.jinja").exists() == made.masks_generation_prompt
    assert not list(path.parent.glob("*.part"))


def test_one_split_and_a_file_of_ones_own(exports: Path, tmp_path: Path) -> None:
    target = tmp_path / "deep" / "mine.jsonl"
    words = ("--mix", "credit", "--format", "axolotl", "--split", "validation", "--out", str(target))
    assert _call(exports, *words) == 0
    assert [one["id"] for one in _lines(target)] == ["two"]
    assert "mine.jsonl" in (tmp_path / "deep" / "mine.jsonl.config.yaml").read_text()


@pytest.mark.parametrize(("split", "is_said"), [("all", True), ("train", False), ("validation", False)])
def test_rows_held_out_for_validation_are_named_where_they_are_mixed_with_the_others(
    exports: Path, split: str, is_said: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _call(exports, "--mix", "credit", "--format", "axolotl", "--split", split) == 0
    sentence = "1 of the rows read are held out for validation: --split train leaves them out\n"
    assert (sentence in capsys.readouterr().out) == is_said


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--mix", "credits", "--format", "axolotl"), "assay: no mix is called credits; there are credit\n"),
        (("--mix", "../credit", "--format", "trl"), "assay: no mix is called ../credit; there are credit\n"),
        (
            ("--mix", "credit", "--format", "word"),
            f"assay: no format of credit is called word; there are {', '.join(FORMATS)}\n",
        ),
    ],
)
def test_a_name_that_is_unknown_is_answered_with_those_that_are_known(
    exports: Path, words: tuple[str, ...], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _call(exports, *words) == 2
    assert capsys.readouterr().err == sentence


def test_absent_exports_are_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _call(tmp_path, "--mix", "credit", "--format", "axolotl") == 2
    assert "no mixes were exported below" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["credit.jsonl", "escape_duel.jsonl", "mask_audit.jsonl", "README.md"])
def test_no_file_of_the_build_is_written_over(exports: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    _write(exports, ROWS, "escape_duel")
    before = {path.name: path.read_bytes() for path in (exports / "mixes").iterdir()}
    target = exports / "mixes" / "deeper" / ".." / name
    assert _call(exports, "--mix", "credit", "--format", "axolotl", "--out", str(target)) == 2
    assert {path.name: path.read_bytes() for path in (exports / "mixes").iterdir()} == before
    assert "lies among the mixes themselves" in capsys.readouterr().err


@pytest.mark.parametrize(
    "line",
    [
        b"{broken\n",
        b"[]\n",
        b'{"n_tokens": "many"}\n',
        b'{"tokenizer_sha256": 7}\n',
        b'{"template_sha256": "\xff"}\n',
        b"\n",
    ],
)
@pytest.mark.parametrize("is_first", [True, False], ids=["first", "last"])
def test_an_audit_that_cannot_be_read_is_one_sentence(
    exports: Path, line: bytes, is_first: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    path = exports / "mixes" / "mask_audit.jsonl"
    said = path.read_bytes()
    path.write_bytes(line + said if is_first else said + line)
    assert _call(exports, "--mix", "credit", "--format", "axolotl") == 2
    assert "mask_audit.jsonl holds a line that is no row of an audit" in capsys.readouterr().err


@pytest.mark.parametrize("length", ["0", "-3"])
def test_a_context_that_holds_nothing_is_refused(
    exports: Path, length: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _call(exports, "--mix", "credit", "--format", "trl", "--max-row-tokens", length) == 2
    assert f"a context of {length} tokens holds no row" in capsys.readouterr().err


@pytest.mark.parametrize("name", FORMATS)
def test_without_a_tokenizer_an_export_claims_no_figure_of_tokens(
    exports: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ASSAY_RAW_ROOT", str(tmp_path))
    monkeypatch.delenv("ASSAY_TOKENIZER", raising=False)
    (exports / "mixes" / "mask_audit.jsonl").write_text('{"id": "one", "is_exported": true, "n_tokens": null}\n')
    words = ["export", "--exports", str(exports), "--mix", "credit", "--format", name]
    made = FORMATS[name]
    path = exports / "mixes" / "formats" / f"credit.{name}{made.ending}"
    if made.needs_template:
        assert main(words) == 2
        assert (
            f"{name} needs the text that a chat template prints, and no tokenizer was named" in capsys.readouterr().err
        )
        assert not path.exists()
        return
    assert main(words) == 0
    configuration = path.with_name(f"{path.name}.config{made.snippet_ending}").read_text()
    assert name == "slime" or "MAX_ROW_TOKENS" in configuration
    assert "chat_template_path" not in configuration
    assert not path.with_name(f"{path.name}.chat_template.jinja").exists()
    assert main([*words, "--max-row-tokens", "8192"]) == 0
    assert "it is not known which targets a context of 8,192 tokens cuts off" in capsys.readouterr().err
    assert name == "slime" or "8192" in path.with_name(f"{path.name}.config{made.snippet_ending}").read_text()
    assert main([*words, "--tokenizer", str(BUNDLED)]) == 2
    assert "were proven without a tokenizer: build again with this one" in capsys.readouterr().err


def test_another_tokenizer_than_that_of_the_audit_is_refused(
    exports: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = write_tokenizer(tmp_path / "other", PLAIN_TEMPLATE)
    words = ["--exports", str(exports), "--tokenizer", str(other), "--mix", "credit", "--format", "verl"]
    assert main(["export", *words]) == 2
    assert "were proven with another tokenizer or template" in capsys.readouterr().err


def test_a_line_that_is_no_row_is_one_sentence_and_leaves_no_file(
    exports: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with (exports / "mixes" / "credit.jsonl").open("ab") as file:
        file.write(b'{"id": 7}\n')
    assert _call(exports, "--mix", "credit", "--format", "axolotl") == 2
    assert "holds a line that is no row of a mix" in capsys.readouterr().err
    assert not list((exports / "mixes" / "formats").iterdir())


@pytest.mark.parametrize("words", [(), ("--max-row-tokens", "99")])
def test_without_the_audit_no_length_is_guessed(
    exports: Path, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    (exports / "mixes" / "mask_audit.jsonl").unlink()
    assert _call(exports, "--mix", "credit", "--format", "axolotl", *words) == 2
    assert "it is not known which rows a context holds" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "limit", "n_written", "n_cut_off"),
    [
        ("trl", 777, 3, 0),
        ("trl", 776, 2, 1),  # the second target of the first row ends at 777
        ("trl", 10, 2, 1),
        ("trl", 9, 1, 2),
        ("axolotl", 777, 2, 0),
        ("axolotl", 776, 1, 2),  # a row is kept whole or not at all
    ],
)
def test_a_target_that_the_context_would_cut_off_is_left_out_and_the_needed_length_said(
    exports: Path, name: str, limit: int, n_written: int, n_cut_off: int, capsys: pytest.CaptureFixture[str]
) -> None:
    path = exports / "mixes" / "mask_audit.jsonl"
    first = json.loads(path.read_text())
    turns = [(1, 10, "pass"), (2, 900, "fail"), (3, 777, "pass")]
    named = ("message_index", "end_token", "verdict")
    first |= {"n_tokens": 780, "turns": [dict(zip(named, turn, strict=True)) for turn in turns]}
    second = {**first, "id": "two", "n_tokens": 8, "turns": [{"message_index": 2, "end_token": 8, "verdict": "pass"}]}
    refused = {**first, "id": "never exported", "is_exported": False, "n_tokens": 99_999}
    path.write_text("".join(json.dumps(line) + "\n" for line in (first, second, refused)))
    assert _call(exports, "--mix", "credit", "--format", name, "--max-row-tokens", str(limit)) == 0
    said = capsys.readouterr()
    assert f"2 rows became {n_written} rows" in said.out
    assert len(_lines(exports / "mixes" / "formats" / f"credit.{name}.jsonl")) == n_written
    expected = f"{n_cut_off} targets were left out, since a context of {limit} tokens" if n_cut_off else ""
    assert said.err.startswith(expected) and bool(said.err) == bool(n_cut_off)
    assert ("--max-row-tokens 780 holds all" in said.err) == bool(n_cut_off)


def test_a_group_of_a_table_is_cut_before_its_texts_fill_the_memory(
    exports: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "BYTES_A_GROUP", 1000)
    _write(exports, [row(("user", "a" * size, False), ("assistant", "b", True)) for size in (2000, 10, 10, 2000, 10)])
    assert _call(exports, "--mix", "credit", "--format", "verl") == 0
    table = pq.ParquetFile(exports / "mixes" / "formats" / "credit.verl.parquet")
    groups = [table.metadata.row_group(group).num_rows for group in range(table.num_row_groups)]
    assert groups == [1, 3, 1]


@pytest.mark.parametrize("name", ["a\nb.jsonl", "\udcff.jsonl", "\x1b[31m.jsonl"])
def test_a_file_that_no_configuration_can_name_is_refused(
    exports: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _call(exports, "--mix", "credit", "--format", "slime", "--out", str(tmp_path / "made" / name)) == 2
    said = capsys.readouterr().err
    assert said.startswith("assay: no configuration can name the file ")
    assert said.count("\n") == 1
    assert not (tmp_path / "made").exists()


def test_an_empty_mix_makes_an_empty_file(exports: Path) -> None:
    _write(exports, [])
    assert _call(exports, "--mix", "credit", "--format", "trl") == 0
    assert (exports / "mixes" / "formats" / "credit.trl.jsonl").read_bytes() == b""
    assert _call(exports, "--mix", "credit", "--format", "verl") == 0
    assert pq.read_table(exports / "mixes" / "formats" / "credit.verl.parquet").num_rows == 0
