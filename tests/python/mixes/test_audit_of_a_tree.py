"""The audit over landed files: what is new is encoded, what is known is found again, what is gone is said."""

import json
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from assay.errors import AssayError
from assay.mixes import run as run_module
from assay.mixes.run import ROWS_TABLE, TURNS_TABLE, Report, audit_tree
from assay.mixes.texts import LINES_A_BLOCK
from assay.steps.progress import progress_line
from mix_inputs import CONVERSATION, PLAIN_TEMPLATE, Landing, candidate, write_candidates, write_tokenizer

RUN = "sn97/runs/a/generated-samples.jsonl"
SHARD = "mini_coder/data/train-00000.parquet"


@pytest.fixture
def landing(tmp_path: Path) -> Landing:
    landing = Landing(tmp_path / "landing")
    other = [("user", "b"), ("assistant", "```bash\nls\n```")]
    landing.duel(RUN, {(1, "king"): CONVERSATION, (1, "challenger"): other, (700, "king"): CONVERSATION})
    landing.mini(SHARD, {9: CONVERSATION})
    return landing


ROWS = [
    candidate("credit/a", RUN, 1, "king", 6, 2, 4),
    candidate("escape/b", RUN, 1, "challenger", 2, 1, mix="escape_duel"),
    candidate("escape/c", RUN, 700, "king", 3, 2, mix="escape_duel"),
    candidate("mini/d", SHARD, 9, None, 5, 4, mix="escape_mini"),
]


def _run(tmp_path: Path, landing: Landing, rows: list[dict[str, Any]], limit: int = 32768, workers: int = 1) -> Report:
    tokenizer = (
        write_tokenizer(tmp_path / "tokenizer") if not (tmp_path / "tokenizer").exists() else tmp_path / "tokenizer"
    )
    return audit_tree(write_candidates(tmp_path / "rows.parquet", rows), landing.folder, tokenizer, limit, workers)


def _found(landing: Landing, table: str = ROWS_TABLE) -> dict[str, dict[str, Any]]:
    key = "row_id" if table == ROWS_TABLE else None
    rows = pq.read_table(landing.folder / table).to_pylist()
    return {row[key] if key else f"{row['row_id']}/{row['message_index']}": row for row in rows}


def test_every_row_is_audited_once_and_found_again_by_its_content(tmp_path: Path, landing: Landing) -> None:
    first = _run(tmp_path, landing, ROWS)
    assert (first.n_audited, first.n_found) == (4, 0)
    found, turns = _found(landing), _found(landing, TURNS_TABLE)
    assert {key: row["verdict"] for key, row in found.items()} == {row["row_id"]: "pass" for row in ROWS}
    assert sorted(turns) == ["credit/a/2", "credit/a/4", "escape/b/1", "escape/c/2", "mini/d/4"]
    assert found["credit/a"]["n_trained_turns"] == 2
    assert found["credit/a"]["n_trained_tokens"] == sum(turns[f"credit/a/{i}"]["n_tokens"] for i in (2, 4))
    # The same messages under the same mask have the same key, wherever they lie.
    assert found["escape/c"]["n_tokens"] < found["mini/d"]["n_tokens"] < found["credit/a"]["n_tokens"]
    again = _run(tmp_path, landing, ROWS)
    assert (again.n_audited, again.n_found, again.n_tokens) == (0, 4, 0)
    assert (_found(landing), _found(landing, TURNS_TABLE)) == (found, turns)


def test_only_what_changed_is_encoded_again(tmp_path: Path, landing: Landing) -> None:
    _run(tmp_path, landing, ROWS)
    landing.duel(RUN, {(1, "king"): CONVERSATION, (1, "challenger"): [("user", "c"), ("assistant", "pwd")],
                       (700, "king"): CONVERSATION})  # fmt: skip
    moved = [{**ROWS[0], "trained": [4]}, *ROWS[1:]]
    report = _run(tmp_path, landing, moved)
    assert (report.n_audited, report.n_found) == (2, 2)  # another mask, another text
    gone = _run(tmp_path, landing, ROWS[:1])
    assert (gone.n_audited, gone.n_found) == (1, 0)
    assert list(_found(landing)) == ["credit/a"]


def test_another_limit_template_or_tokenizer_is_another_audit(tmp_path: Path, landing: Landing) -> None:
    _run(tmp_path, landing, ROWS)
    report = _run(tmp_path, landing, ROWS, limit=10)
    assert (report.n_audited, report.n_found) == (4, 0)
    assert {row["over_limit"] for row in _found(landing).values()} == {True}
    assert {row["verdict"] for row in _found(landing).values()} == {"pass"}  # it is reported, and fails nothing
    before = {row["template_sha256"] for row in _found(landing).values()}
    write_tokenizer(tmp_path / "tokenizer", PLAIN_TEMPLATE)
    assert _run(tmp_path, landing, ROWS, limit=10).n_audited == 4
    assert {row["template_sha256"] for row in _found(landing).values()}.isdisjoint(before)
    settings = tmp_path / "tokenizer" / "tokenizer_config.json"
    settings.write_text(json.dumps({**json.loads(settings.read_text()), "bos_token": "<first>"}))
    assert _run(tmp_path, landing, ROWS, limit=10).n_audited == 4
    assert _run(tmp_path, landing, ROWS, limit=10).n_audited == 0


@pytest.mark.parametrize("missing", ["tokenizer.json", "chat_template.jinja"])
def test_without_a_tokenizer_or_a_template_every_verdict_is_unknown(
    tmp_path: Path, landing: Landing, missing: str
) -> None:
    folder = write_tokenizer(tmp_path / "tokenizer")
    (folder / missing).unlink()
    (folder / "tokenizer_config.json").unlink()
    report = _run(tmp_path, landing, ROWS)
    assert {(row["verdict"], row["reason"]) for row in _found(landing).values()} == {("unknown", "no_tokenizer")}
    assert {(row["verdict"], row["n_tokens"]) for row in _found(landing, TURNS_TABLE).values()} == {("unknown", None)}
    assert report.n_tokens == 0
    assert "tokenizer: none" in report.sentence()


def test_a_tokenizer_that_cannot_be_read_is_one_sentence(tmp_path: Path, landing: Landing) -> None:
    folder = write_tokenizer(tmp_path / "tokenizer")
    (folder / "tokenizer.json").write_text('{"model": {"type": "Nothing"}}')
    with pytest.raises(AssayError, match="the tokenizer cannot be read"):
        _run(tmp_path, landing, ROWS)
    (folder / "tokenizer.json").write_text("{broken")
    with pytest.raises(AssayError, match="cannot be read"):
        _run(tmp_path, landing, ROWS)


def test_text_that_is_gone_makes_a_row_unknown_and_a_file_that_is_gone_stops(tmp_path: Path, landing: Landing) -> None:
    _run(tmp_path, landing, [candidate("credit/x", RUN, 3, "king", 6, 2), ROWS[0]])
    assert {key: row["reason"] for key, row in _found(landing).items()} == {"credit/x": "no_messages", "credit/a": None}
    with pytest.raises(AssayError, match="the landed messages of sn97/gone are gone"):
        _run(tmp_path, landing, [candidate("credit/y", "sn97/gone", 1, "king", 6, 2)])


def test_processes_do_not_change_what_is_found(
    tmp_path: Path, landing: Landing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_module, "_ALONE_ROWS", 0)
    many = {line: [("user", f"task {line}"), *CONVERSATION[2:]] for line in range(1, 3 * LINES_A_BLOCK, 20)}
    landing.mini("mini_coder/data/train-00001.parquet", many)
    rows = [candidate(f"mini/{line}", "mini_coder/data/train-00001.parquet", line, None, 4, 1, 3) for line in many]
    _run(tmp_path, landing, rows, workers=1)
    alone = {path.name: path.read_bytes() for path in (landing.folder / ROWS_TABLE).iterdir()}
    for path in (landing.folder / ROWS_TABLE).iterdir():
        path.unlink()
    _run(tmp_path, landing, rows, workers=2)
    assert {path.name: path.read_bytes() for path in (landing.folder / ROWS_TABLE).iterdir()} == alone
    assert len(alone) == 4  # three blocks of lines, and the empty file that carries the schema


def test_progress_says_how_long_the_rest_takes() -> None:
    assert progress_line("rows", 25, 100, 5.0, "9 tokens/s") == "rows: 25 of 100 (25%), 15 s left, 9 tokens/s"
    assert progress_line("rows", 0, 0, 0.0) == "rows: 0 of 0 (100%), starting"


def test_the_report_names_the_rate(tmp_path: Path, landing: Landing) -> None:
    assert re.search(
        r"4 rows of [\d,]+ tokens in [\d.]+ s \([\d,]+ tokens/s\)", _run(tmp_path, landing, ROWS).sentence()
    )
