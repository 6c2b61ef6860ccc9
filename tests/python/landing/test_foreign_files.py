"""Files that are something else, files of too many lines, and texts that expand: one sentence, in bounded time."""

import gzip
import json
import pickle
import time
from pathlib import Path

import assay.landing.artifact
import assay.landing.lines
import pyarrow as pa
import pytest
from landing_tree import MINI_CODER, OWN, Tree, own

_RECORD = json.dumps(own("a"))
_FOREIGN = {
    "utf16": ((_RECORD + "\n").encode("utf-16"), "UTF-16 text"),
    "utf16 without mark": ((_RECORD + "\n" + _RECORD).encode("utf-16-le"), "UTF-16 or UTF-32 text"),
    "pointer": (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n", "a Git LFS pointer"),
    "array": (json.dumps([own("a"), own("b")], indent=2).encode(), "one JSON array over several lines"),
    "flat array": (f"[\n{_RECORD},\n{_RECORD}\n]\n".encode(), "one JSON array over several lines"),
    "dense array": (f"[{_RECORD},\n{_RECORD}]\n".encode(), "one JSON array over several lines"),
    "indented": (b"\xef\xbb\xbf" + json.dumps(own("a"), indent=2).encode(), "indented JSON"),
    "page": (b"\n<!DOCTYPE html>\n<html>\n<body>404\n</body>", "an HTML or XML page"),
    "twice": (gzip.compress(gzip.compress(_RECORD.encode())), "gzip inside gzip"),
    "parquet": (b"PAR1\x15\x04\n\n", "a parquet file"),
    "zip": (b"PK\x03\x04\n\n\n", "a zip archive"),
    "pickle": (pickle.dumps({"a": [1, 2]}), "a Python pickle"),
    "zstd": (b"\x28\xb5\x2f\xfd\n\n\n", "a zstd file"),
}


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def test_a_file_of_another_kind_is_one_sentence_that_says_what_it_looks_like(tree: Tree) -> None:
    for name, (data, _) in _FOREIGN.items():
        tree.write(f"trajectories/{name}.jsonl", data)
    tree.write("sn120/evals/chal-1.json", _FOREIGN["utf16"][0])
    tree.write("trajectories/sound.jsonl", f"{_RECORD}\n[1,\n{{\n".encode())
    tree.write("trajectories/named.jsonl", gzip.compress(_RECORD.encode()))
    tree.land()
    found = {row["file"]: row for row in tree.rows("quarantine") if row["reason"] == "foreign_file"}
    assert found.pop("sn120/evals/chal-1.json")["detail"] == "it looks like UTF-16 text: write it as UTF-8"
    assert found.keys() == {f"trajectories/{name}.jsonl" for name in _FOREIGN}
    for name, (_, look) in _FOREIGN.items():
        row = found[f"trajectories/{name}.jsonl"]
        assert row["line"] == 1 and row["detail"].startswith(f"it looks like {look}")
        assert tree.artifact(row["file"])["n_lines"] == 1
    assert sorted(tree.values("own_trajectories", "artifact_id")) == [
        "trajectories/named.jsonl",
        "trajectories/sound.jsonl",
    ]


def test_blank_lines_are_skipped_in_bulk_and_counted(tree: Tree) -> None:
    blank = b"\n" * 20_000_000 + b" \t\r\n" * 1000
    tree.write(OWN, gzip.compress(blank + b"  " + _RECORD.encode() + b"\n\n" + b"x", 1))
    started = time.process_time()
    tree.land()
    assert time.process_time() - started < 5
    row = tree.artifact(OWN)
    assert (row["n_lines"], row["n_blank_lines"], row["n_rows"]) == (2, 20_001_001, 1)
    assert tree.values("own_trajectories", "line") == [20_001_001]
    assert tree.refused() == [(20_001_003, len(blank) + 4 + len(_RECORD), "invalid_json")]


def test_lines_beyond_the_limit_are_not_read(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assay.landing.lines, "MAX_LINES", 3)
    tree.write(OWN, f"{_RECORD}\n\n".encode() * 6)
    tree.write("trajectories/three.jsonl", f"{_RECORD}\n".encode() * 3)
    tree.land()
    assert tree.values("quarantine", "file", "line", "reason") == [(OWN, 7, "too_many_lines")]
    assert (tree.artifact(OWN)["n_lines"], tree.artifact(OWN)["n_rows"]) == (4, 3)
    assert tree.artifact("trajectories/three.jsonl")["n_rows"] == 3


def test_after_very_many_refused_lines_the_rest_is_not_read(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assay.landing.artifact, "MAX_REFUSED_LINES", 2)
    tree.write(OWN, f"x\n{_RECORD}\nx\n{_RECORD}\n{_RECORD}\n".encode())
    tree.land()
    assert [(line, reason) for line, _, reason in tree.refused()] == [
        (1, "invalid_json"), (3, "invalid_json"), (4, "too_many_refused"),
    ]  # fmt: skip
    assert tree.artifact(OWN)["n_lines"] == 4


def test_a_long_row_of_a_small_parquet_file_is_refused_by_its_number_and_the_others_are_kept(tree: Tree) -> None:
    texts = [json.dumps(own("a", "x" * n)["messages"]) for n in (1, 3 << 20, 2)]
    repeated = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2] * 40, pa.int32()), pa.array(texts))
    tree.write_parquet(MINI_CODER, pa.table({"messages": repeated}), compression="zstd")
    nested = [[{"role": "user", "content": "y" * (1 << 19)}] * count for count in (1, 40, 1)]
    tree.write_parquet("mini_coder/data/nested.parquet", pa.table({"messages": nested}), compression="zstd")
    assert sum(path.stat().st_size for path in (tree.raw / "mini_coder/data").iterdir()) < 1 << 16
    tree.land(max_line_megabytes=2)
    row = tree.artifact(MINI_CODER)
    assert (row["n_lines"], row["n_rows"], row["n_quarantined"]) == (120, 80, 40)
    refused = tree.values("quarantine", "file", "line", "reason")
    assert {reason for _, _, reason in refused} == {"line_too_long"}
    assert sorted(line for file, line, _ in refused if file == MINI_CODER) == list(range(2, 120, 3))
    assert [line for file, line, _ in refused if file != MINI_CODER] == [2]
