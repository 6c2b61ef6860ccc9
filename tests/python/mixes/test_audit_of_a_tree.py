"""The audit over landed files: what is new is encoded, what is known is found again, what is gone is said."""

import json
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from assay.errors import AssayError
from assay.mixes import run as run_module
from assay.mixes.run import Report, audit_tree
from assay.mixes.texts import LINES_A_BLOCK
from assay.steps.progress import progress_line
from mix_inputs import CONVERSATION, PLAIN_TEMPLATE, Landing, candidate, write_candidates, write_tokenizer

ROWS_TABLE, TURNS_TABLE = "mix_audit_rows", "mix_audit_turns"
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


def test_without_a_tokenizer_the_mask_is_looked_at_by_message_and_no_figure_of_tokens_is_known(
    tmp_path: Path, landing: Landing
) -> None:
    more_texts = {
        10: [("user", "a"), ("assistant", " "), ("user", "b"), ("assistant", "c")],
        11: [("user", "a"), ("assistant", "\n")],
        12: [("user", "a" * 2_000_001), ("assistant", "b")],
    }
    landing.mini(SHARD, {9: CONVERSATION, **more_texts})
    more = [
        candidate("mini/empty", SHARD, 10, None, 4, 1, 3),
        candidate("mini/none", SHARD, 11, None, 2, 1),
        candidate("mini/long", SHARD, 12, None, 2, 1),
    ]
    path = write_candidates(tmp_path / "rows.parquet", [*ROWS, *more])
    report = audit_tree(path, landing.folder, None, 10, 1)
    assert (report.n_audited, report.n_found, report.n_tokens) == (7, 0, 0)
    assert "no tokenizer is named, so every figure of tokens is unknown: set ASSAY_TOKENIZER" in report.sentence()
    found, turns = _found(landing), _found(landing, TURNS_TABLE)
    assert {key: (row["verdict"], row["reason"], row["n_trained_turns"]) for key, row in found.items()} == {
        "credit/a": ("pass", None, 2),
        "escape/b": ("pass", None, 1),
        "escape/c": ("pass", None, 1),
        "mini/d": ("pass", None, 1),
        "mini/empty": ("pass", None, 1),
        "mini/none": ("fail", "no_trained_turn_passes", 0),
        "mini/long": ("fail", "too_long_to_encode", 0),
    }
    unknown = (
        "n_tokens n_trained_tokens stop_token_in_span n_boundary_merges n_injected_tokens over_limit tokenizer "
        "tokenizer_sha256 template_sha256 template_date"
    ).split()
    assert {row[name] for row in found.values() for name in unknown} == {None}
    assert (turns["mini/empty/1"]["reason"], turns["mini/empty/3"]["verdict"]) == ("empty_content", "pass")
    places = ("first_token", "end_token", "n_tokens", "stop_token_in_span", "decoded_equal", "n_boundary_merges")
    assert {row[name] for row in turns.values() for name in places} == {None}
    assert audit_tree(path, landing.folder, None, 10, 1).n_found == 7
    # A tokenizer that is named later is another proof.
    assert audit_tree(path, landing.folder, write_tokenizer(tmp_path / "tokenizer"), 10, 1).n_audited == 7


def test_the_day_that_a_template_is_told_is_part_of_the_proof(tmp_path: Path, landing: Landing) -> None:
    folder = write_tokenizer(tmp_path / "tokenizer", "{{ strftime_now('%Y') }}" + PLAIN_TEMPLATE)
    path = write_candidates(tmp_path / "rows.parquet", ROWS)
    assert audit_tree(path, landing.folder, folder, 10, 1).n_audited == 4
    found = _found(landing)
    assert {(row["verdict"], row["template_date"]) for row in found.values()} == {("pass", "2025-01-01")}
    assert audit_tree(path, landing.folder, folder, 10, 1, today="2031-05-06").n_audited == 4
    assert {row["template_date"] for row in _found(landing).values()} == {"2031-05-06"}
    with pytest.raises(AssayError, match="var chat_template_date is 5 May, not a day like 2025-01-01"):
        audit_tree(path, landing.folder, folder, 10, 1, today="5 May")


def test_a_text_that_the_tokenizer_gives_up_on_is_a_fault_of_its_row(tmp_path: Path, landing: Landing) -> None:
    # The library's pattern runs into its limit there, and panics: no `Exception`.
    folder = write_tokenizer(tmp_path / "tokenizer")
    document = json.loads((folder / "tokenizer.json").read_text())
    pattern = {"type": "Split", "pattern": {"Regex": "([a-z ]+)+$"}, "behavior": "Isolated", "invert": False}
    document["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [pattern, document["pre_tokenizer"]]}
    (folder / "tokenizer.json").write_text(json.dumps(document))
    landing.mini(
        SHARD, {1: [("user", "a"), ("assistant", "ok")], 2: [("user", "a b " * 60 + "1"), ("assistant", "ok")]}
    )
    rows = [candidate("mini/fine", SHARD, 1, None, 2, 1), candidate("mini/fault", SHARD, 2, None, 2, 1)]
    _run(tmp_path, landing, rows)
    found = _found(landing)
    assert found["mini/fine"]["verdict"] == "pass"
    assert (found["mini/fault"]["verdict"], found["mini/fault"]["n_tokens"]) == ("fail", None)
    assert found["mini/fault"]["reason"].startswith("tokenizer_failed: Onig: Regex search error")
    assert _found(landing, TURNS_TABLE)["mini/fault/1"]["verdict"] == "fail"


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
