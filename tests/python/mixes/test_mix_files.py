"""The files of the mixes: canonical rows in order, the same bytes on any number of processes, whole or not there."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from assay.errors import AssayError
from assay.mixes import export as export_module
from assay.mixes import rows as rows_module
from assay.mixes.export import PARTS_FOLDER, Written, export_mixes, file_names, pair_files
from assay.mixes.pairs import SCHEMA as PAIR_SCHEMA
from assay.mixes.rows import SCHEMA, TURN
from mix_inputs import CONVERSATION, Landing, candidate

RUNS = ("sn97/runs/b/generated-samples.jsonl", "sn97/runs/a/generated-samples.jsonl")
SHARD = "mini_coder/data/train-00000.parquet"
MIXES = ["credit", "escape_duel", "escape_mini", "finish_mini"]
FINALS = {"final_v1": MIXES[:2], "final_v2": MIXES}
HARD = 'line\u2028break \x85 \u0000 "quote" \\ \ud83d\ude00'.encode("utf-16", "surrogatepass").decode("utf-16")

EXPORTED = pa.schema(
    [("mix", pa.string()), ("row_id", pa.string()), ("row_order", pa.int64()),
     ("split", pa.string()), ("weight", pa.float64()), ("n_tokens", pa.int64()), ("n_trained_tokens", pa.int64()),
     ("text_source", pa.string()),
     ("text_artifact_id", pa.string()), ("text_line", pa.int64()), ("text_side", pa.string()),
     ("message_indexes", pa.list_(pa.int64())), ("turns", pa.list_(TURN))]
)  # fmt: skip


def _row(
    row_id: str, order: int, mix: str, artifact: str, line: int, side: str | None, n_messages: int, *trained: int
) -> dict[str, Any]:
    made = candidate(row_id, artifact, line, side, n_messages, mix=mix)
    turns = [{"message_index": place, "turn": place, "credit": 0.25, "tags": ["explore"], "is_recovery": None,
              "command_kind": "cat"} for place in trained]  # fmt: skip
    split = "validation" if row_id.endswith("v") else "train"
    return {**made, "row_order": order, "split": split, "weight": 1.0,
            "n_tokens": 9, "n_trained_tokens": 3, "turns": turns}  # fmt: skip


PAIRS = pa.schema(
    [("row_id", pa.string()), ("text_artifact_id", pa.string()), ("text_line", pa.int64()),
     ("chosen_side", pa.string()), ("rejected_side", pa.string()), ("n_prompt_messages", pa.int64()),
     *PAIR_SCHEMA.field("pair_meta").type]
)  # fmt: skip


def _pair(line: int, chosen: str, rejected: str, split: str, n_prompt: int = 4) -> dict[str, Any]:
    return {"row_id": f"pairs/{line}", "text_artifact_id": RUNS[0], "text_line": line, "chosen_side": chosen,
            "rejected_side": rejected, "n_prompt_messages": n_prompt, "split": split, "chosen_score": 0.9,
            "rejected_score": 0.25, "reasons": ["score_gap"], "chosen_tokens": 70, "rejected_tokens": None}  # fmt: skip


class Site:
    """Landed texts, rows and a folder of exports."""

    def __init__(self, folder: Path, padding: int = 0) -> None:
        self.landing = Landing(folder / "landing")
        self.folder, self.exports = folder, folder / "exports"
        self.mixes = self.exports / "mixes"
        texts = [
            ("system", "s"),
            ("user", HARD + "x" * padding),
            ("assistant", "```bash\nls\n```"),
            ("user", ""),
            ("assistant", "é"),
        ]
        for run in RUNS:
            other = [*CONVERSATION[:4], ("assistant", "Something\0 else."), ("user", "no")]
            sides = {(1, "king"): CONVERSATION, (1, "challenger"): other, (2, "challenger"): texts}
            self.landing.duel(run, {**sides, (3, "king"): other, (3, "challenger"): CONVERSATION[:5]})
        self.landing.mini(SHARD, {3: CONVERSATION})
        # The order of the rows is not that of the files they come from.
        self.rows = [
            _row("c2v", 2, "credit", RUNS[0], 1, "king", 6, 2, 4),
            _row("c1", 1, "credit", RUNS[1], 1, "king", 6, 4),
            _row("e3", 3, "escape_duel", RUNS[0], 2, "challenger", 3, 2),
            _row("e1", 1, "escape_duel", RUNS[0], 2, "challenger", 5, 4),
            _row("e2", 2, "escape_duel", RUNS[1], 1, "king", 3, 2),
            _row("m1", 1, "escape_mini", SHARD, 3, None, 5, 4),
        ]
        self.pairs: list[dict[str, Any]] = []

    def export(self, workers: int = 1) -> list[Written]:
        self.folder.mkdir(exist_ok=True)
        rows, audit = self.folder / "rows.parquet", self.folder / "audit.parquet"
        pq.write_table(pa.Table.from_pylist(self.rows, schema=EXPORTED), rows)
        pq.write_table(pa.table({"id": ["c1", "x"], "verdict": ["pass", "fail"]}), audit)
        pairs = self.folder / "pairs.parquet"
        pq.write_table(pa.Table.from_pylist(self.pairs, schema=PAIRS), pairs)
        return export_mixes(rows, audit, pairs, self.landing.folder, self.exports, MIXES, FINALS, workers)

    def lines(self, name: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.mixes / name).read_bytes().split(b"\n")[:-1]]

    def bytes_of_all(self) -> dict[str, str]:
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in self.mixes.iterdir()}


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_a_pair_is_what_both_sides_share_and_the_reply_in_which_they_part(site: Site) -> None:
    site.pairs = [_pair(1, "king", "challenger", "train"), _pair(3, "challenger", "king", "validation")]
    written = {file.name: file.n_rows for file in site.export()}
    assert {name: n_rows for name, n_rows in written.items() if name.startswith("pairs")} == {
        "pairs.jsonl": 2, "pairs.parquet": 2, "pairs.train.parquet": 1, "pairs.validation.parquet": 1,
    }  # fmt: skip
    one, three = site.lines("pairs.jsonl")
    prompt = [{"role": role, "content": content} for role, content in CONVERSATION[:4]]
    meta = {"split": "train", "chosen_score": 0.9, "rejected_score": 0.25, "reasons": ["score_gap"],
            "chosen_tokens": 70, "rejected_tokens": None}  # fmt: skip
    reply = [{"role": "assistant", "content": CONVERSATION[4][1]}]
    other = [{"role": "assistant", "content": "Something\ufffd else."}]
    assert one == {
        "id": "pairs/1",
        "prompt": prompt,
        "chosen": reply,
        "rejected": other,
        "mix": "pairs",
        "pair_meta": meta,
    }
    assert (three["chosen"], three["rejected"], three["pair_meta"]["split"]) == (reply, other, "validation")
    assert pq.read_schema(site.mixes / "pairs.parquet").equals(PAIR_SCHEMA)
    assert pq.read_table(site.mixes / "pairs.parquet").to_pylist() == [one, three]
    assert pq.read_table(site.mixes / "pairs.validation.parquet").to_pylist() == [three]


@pytest.mark.parametrize(
    ("line", "n_prompt"), [(9, 4), (1, 6), (1, 5)], ids=["no such line", "no reply there", "the sides differ before"]
)
def test_a_pair_whose_texts_are_not_as_they_were_stops_the_export(site: Site, line: int, n_prompt: int) -> None:
    site.export()
    before = site.bytes_of_all()
    site.pairs = [_pair(line, "king", "challenger", "train", n_prompt)]
    with pytest.raises(AssayError, match=f"of pair pairs/{line} (is|are) gone from the landed files: build again"):
        site.export()
    assert site.bytes_of_all() == before


def test_rows_are_canonical_and_in_the_order_of_the_plan(site: Site) -> None:
    written = site.export()
    assert [row["id"] for row in site.lines("credit.jsonl")] == ["c1", "c2v"]
    assert [row["id"] for row in site.lines("escape_duel.jsonl")] == ["e1", "e2", "e3"]
    assert [row["id"] for row in site.lines("final_v1.jsonl")] == ["c1", "c2v", "e1", "e2", "e3"]
    assert [row["id"] for row in site.lines("final_v2.jsonl")] == ["c1", "c2v", "e1", "e2", "e3", "m1"]
    row = site.lines("credit.jsonl")[1]
    assert list(row) == ["id", "messages", "mix", "train_meta"]
    expected = [
        {"role": role, "content": content, "train": place in (2, 4)}
        for place, (role, content) in enumerate(CONVERSATION)
    ]
    assert row["messages"] == expected
    assert row["train_meta"]["split"] == "validation"
    assert row["train_meta"]["turns"][0] == {
        "message_index": 2, "turn": 2, "credit": 0.25, "tags": ["explore"], "is_recovery": None, "command_kind": "cat",
    }  # fmt: skip
    assert [file.name for file in written] == [*file_names(MIXES), *pair_files(), "mask_audit.jsonl"]
    for file in written:
        data = (site.mixes / file.name).read_bytes()
        assert (file.n_bytes, file.sha256) == (len(data), hashlib.sha256(data).hexdigest())
    assert not (site.mixes / PARTS_FOLDER).exists()


def test_hard_letters_stay_in_one_line_and_come_back(site: Site) -> None:
    site.export()
    data = (site.mixes / "escape_duel.jsonl").read_bytes()
    assert len(data.decode().splitlines()) == 3
    assert site.lines("escape_duel.jsonl")[0]["messages"][1]["content"] == HARD.replace(
        "\0", "\N{REPLACEMENT CHARACTER}"
    )


def test_parquet_holds_the_same_rows_under_declared_types_and_splits_divide_them(site: Site) -> None:
    site.export()
    for name in (*MIXES, "final_v1", "final_v2"):
        table = pq.read_table(site.mixes / f"{name}.parquet")
        assert table.schema.equals(SCHEMA)
        assert table.to_pylist() == site.lines(f"{name}.jsonl")
        if name in FINALS:
            continue
        parts = [pq.read_table(site.mixes / f"{name}.{split}.parquet").to_pylist() for split in ("train", "validation")]
        assert [row["id"] for row in parts[1]] == (["c2v"] if name == "credit" else [])
        assert sorted(row["id"] for part in parts for row in part) == sorted(row["id"] for row in table.to_pylist())


def test_a_mix_without_rows_is_an_empty_file_that_takes_the_place_of_an_old_one(site: Site) -> None:
    site.export()
    site.rows = site.rows[2:]
    counts = {file.name: file.n_rows for file in site.export()}
    assert (site.mixes / "credit.jsonl").read_bytes() == b""
    assert (site.mixes / "finish_mini.jsonl").read_bytes() == b""
    assert pq.read_table(site.mixes / "credit.parquet").num_rows == 0
    assert pq.read_schema(site.mixes / "credit.parquet").equals(SCHEMA)
    assert (counts["credit.jsonl"], counts["final_v2.jsonl"]) == (0, 4)


def test_no_rows_at_all_make_empty_files(site: Site) -> None:
    site.rows = []
    site.export()
    assert {path.stat().st_size for path in site.mixes.glob("*.jsonl") if path.name != "mask_audit.jsonl"} == {0}


def test_processes_do_not_change_a_byte(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    many = {(line, "king"): [("user", f"task {line}"), *CONVERSATION[2:]] for line in range(1, 1500, 7)}
    site.landing.duel(RUNS[0], many)
    site.rows = [
        _row(f"c{line}{'v' if line % 3 == 0 else ''}", 10_000 - line, "credit", RUNS[0], line, "king", 4, 1)
        for line, _ in many
    ]
    site.export(workers=1)
    alone = site.bytes_of_all()
    monkeypatch.setattr(export_module, "_ALONE_ROWS", 0)
    monkeypatch.setattr(export_module, "_ALONE_MEGABYTES", 0)
    site.export(workers=2)
    assert site.bytes_of_all() == alone
    assert site.lines("credit.jsonl")[0]["id"].startswith("c1499")


def test_groups_of_rows_are_cut_by_the_rows_alone(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_module, "ROWS_A_GROUP", 2)
    site.export()
    assert pq.read_metadata(site.mixes / "final_v2.parquet").num_row_groups == 4
    monkeypatch.setattr(rows_module, "BYTES_A_GROUP", 1)
    site.export()
    assert pq.read_metadata(site.mixes / "final_v2.parquet").num_row_groups == 6


def test_text_that_is_gone_stops_the_export_and_leaves_the_old_files(site: Site) -> None:
    site.export()
    before = site.bytes_of_all()
    site.rows.append(_row("c9", 9, "credit", RUNS[0], 77, "king", 6, 2))
    with pytest.raises(AssayError, match="the messages of row c9 are gone"):
        site.export()
    assert site.bytes_of_all() == before


_FULL_DISK = """
import resource, sys
from pathlib import Path
sys.path[:0] = sys.argv[3:]
from test_mix_files import Site
from assay.errors import AssayError
site = Site(Path(sys.argv[1]), 30_000)
limit = int(sys.argv.pop(2))
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
try:
    site.export()
except AssayError as error:
    print(error)
    sys.exit(2)
"""


@pytest.mark.parametrize("room", ["for no line", "for all but the last file"])
def test_a_disk_that_fills_is_one_sentence_and_leaves_no_half_file(tmp_path: Path, room: str) -> None:
    site = Site(tmp_path, 30_000)
    site.export()
    before = site.bytes_of_all()
    size = (site.mixes / "final_v2.jsonl").stat().st_size
    limit = 20_000 if room == "for no line" else size - 1
    path = [str(Path(__file__).parent), str(Path(__file__).parents[1])]
    command = [sys.executable, "-c", _FULL_DISK, str(tmp_path), str(limit), *path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "")
    assert done.stdout.startswith("cannot write below ")
    assert str(site.exports) in done.stdout
    assert site.bytes_of_all() == before


_STOPPED = """
import sys
from pathlib import Path
sys.path[:0] = sys.argv[2:]
from assay.mixes import export
from test_mix_files import Site
site = Site(Path(sys.argv[1]))
write = export._write_audit
def slowly(*words):
    print("writing", flush=True)
    import time
    time.sleep(60)
export._write_audit = slowly
site.export()
"""


def test_ctrl_c_leaves_no_half_file(site: Site, tmp_path: Path) -> None:
    site.export()
    before = site.bytes_of_all()
    path = [str(Path(__file__).parent), str(Path(__file__).parents[1])]
    command = [sys.executable, "-c", _STOPPED, str(tmp_path), *path]
    # A shell that runs in the background ignores Ctrl-C, and children inherit that.
    restore = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.default_int_handler)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **restore) as process:  # type: ignore[call-overload]
        assert process.stdout.readline() == "writing\n"
        assert [name for name in os.listdir(site.mixes) if name.endswith(".part")]
        process.send_signal(signal.SIGINT)
        started = time.monotonic()
        process.wait(timeout=30)
        assert time.monotonic() - started < 30
    assert process.returncode != 0
    assert site.bytes_of_all() == before
