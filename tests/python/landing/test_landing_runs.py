"""The landing step as a run: trees with parts missing, second runs, faults on the way, processes and memory."""

import contextlib
import errno
import gzip
import hashlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from assay.errors import AssayError
from assay.landing import artifact as artifact_module
from assay.landing import run as run_module
from assay.landing.artifact import Artifact, Landed
from assay.landing.command import summary
from assay.landing.run import land_tree
from assay.landing.step import landing_step
from assay.landing.tables import TABLES
from assay.steps.runner import Write
from assay.steps.state import STATE_FILE
from dbt_project import session_of_a_run
from landing_tree import CHECKPOINT, CHUNK, OWN, RUN, SAMPLES, SCORES, Tree, own, sample, score


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


OURS = {"landing.lock", STATE_FILE}


def _tables(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.parquet"))}


def _one_sentence(error: pytest.ExceptionInfo[AssayError]) -> str:
    text = str(error.value)
    assert text and "\n" not in text and "Traceback" not in text
    return text


# what is there and what is not ---------------------------------------------------------------------------


def test_an_empty_root_gives_every_table_empty(tree: Tree) -> None:
    report = land_tree(tree.raw, tree.out, 1)
    tree.check(report)
    assert report.artifacts == [] and report.reasons == {}
    for name, table in TABLES.items():
        assert pq.read_table(tree.out / name / "empty.parquet").equals(table.schema.empty_table())
    assert {path.name for path in tree.out.iterdir()} == {*TABLES, "artifacts", "quarantine", "strangers", *OURS}


def test_an_empty_source_folder_and_strangers(tree: Tree) -> None:
    (tree.raw / "sn97" / "runs").mkdir(parents=True)
    (tree.raw / "notes").mkdir()
    (tree.raw / "sn120").write_bytes(b"a file named like a source")
    tree.write("README.md", b"x")
    report = tree.land()
    assert report.strangers == ["README.md", "notes"]
    assert [(row["artifact_id"], row["status"]) for row in report.artifacts] == [("sn120", "unrecognised")]
    assert "not part of a raw tree, not read: README.md, notes" in summary(report)


def test_a_root_that_is_missing_or_a_file_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "loop").symlink_to("loop")
    for name, words in (("gone", "does not exist"), ("file", "is not a folder"), ("loop", "cannot be listed"),
                        ("bad\nname\x1b", "does not exist")):  # fmt: skip
        with pytest.raises(AssayError) as error:
            land_tree(tmp_path / name, tmp_path / "landing", 1)
        assert words in _one_sentence(error)
        assert not (tmp_path / "landing").exists()


def test_entries_that_are_no_files_are_one_sentence(tmp_path: Path) -> None:
    for name, words in (("dangling", "No such file"), ("loop", "Too many levels"), ("pipe", "not a regular file")):
        (tmp_path / name).mkdir()
        tree = Tree(tmp_path / name)
        path = tree.raw / "trajectories" / f"{name}.jsonl"
        path.parent.mkdir()
        if name == "pipe":
            os.mkfifo(path)
        else:
            path.symlink_to(path.name if name == "loop" else "nowhere")
        with pytest.raises(AssayError) as error:
            tree.land()
        assert words in _one_sentence(error) and path.name in _one_sentence(error)


def test_a_folder_named_like_a_file_is_walked(tree: Tree) -> None:
    tree.write_lines("trajectories/x.jsonl/inner.jsonl", own("a"))
    (tree.raw / "sn97" / "verdict.json").mkdir(parents=True)
    tree.land()
    assert tree.values("own_trajectories", "artifact_id") == ["trajectories/x.jsonl/inner.jsonl"]


def test_linked_folders_are_read_and_loops_end(tree: Tree, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "deep").mkdir(parents=True)
    (elsewhere / "deep" / "own.jsonl").write_text(json.dumps(own("a")))
    (elsewhere / "deep" / "up").symlink_to(elsewhere)
    (elsewhere / "self").symlink_to(".")
    (tree.raw / "trajectories").symlink_to(elsewhere)
    report = land_tree(tree.raw, tree.out, 1, follow_links_out=True)
    assert [row["artifact_id"] for row in report.artifacts] == ["trajectories/deep/own.jsonl"]


def test_links_that_lead_out_of_the_root_are_listed_and_not_read(tree: Tree, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "own.jsonl").write_text(json.dumps(own("outside")))
    inside = tree.write_lines("trajectories/real.jsonl", own("inside"))
    names: dict[str, str | Path] = {
        "file.jsonl": outside / "own.jsonl",
        "folder": outside,
        "gone.jsonl": "../../nowhere",
        "top": "/",
    }
    for name, target in names.items():
        (tree.raw / "trajectories" / name).symlink_to(target)
    # A neighbour whose name only begins like the root's is outside too.
    (tmp_path / "raw-other").mkdir()
    (tree.raw / "trajectories" / "next").symlink_to(tmp_path / "raw-other")
    (tree.raw / "trajectories" / "again.jsonl").symlink_to(inside)
    report = tree.land()
    assert report.links_out == sorted(f"trajectories/{name}" for name in (*names, "next"))
    assert sorted(tree.values("own_trajectories", "trajectory_id")) == ["inside", "inside"]
    assert tree.refused() == []
    assert "not read, since they are links that lead out of the raw root: trajectories/file.jsonl" in summary(report)
    # The root itself may be a link.
    (tmp_path / "link").symlink_to(tree.raw)
    assert land_tree(tmp_path / "link", tree.out, 1).links_out == report.links_out


def test_links_that_multiply_are_refused_instead_of_followed_for_ever(tree: Tree) -> None:
    base = tree.raw / "trajectories"
    for level in range(40):
        (base / f"{level:02}").mkdir(parents=True)
        for name in ("left", "right"):
            (base / f"{level:02}" / name).symlink_to(f"../{level + 1:02}")
    (base / "40").mkdir()
    with pytest.raises(AssayError) as error:
        tree.land()
    assert "links lead more than 100 times to the folder" in _one_sentence(error)


def test_a_very_deep_folder_is_walked(tree: Tree) -> None:
    (tree.raw / "trajectories").mkdir()
    before = Path.cwd()
    try:
        os.chdir(tree.raw / "trajectories")
        for _ in range(1100):
            Path("a").mkdir()
            os.chdir("a")
        Path("own.jsonl").write_text(json.dumps(own("a")))
        os.chdir(before)
        report = tree.land()
    finally:
        os.chdir(before)
        # Python's own removal of a folder recurses too deep here.
        subprocess.run(["rm", "-rf", tree.raw], check=True)
    assert [row["artifact_id"].count("/") for row in report.artifacts] == [1101]


def test_file_names_of_any_kind_stay_inside_the_output_folder(tree: Tree, tmp_path: Path) -> None:
    names = ["a b.jsonl", "quote'\"`$(x).jsonl", "new\nline.jsonl", "..jsonl", "...jsonl", "-rf.jsonl", "%2e%2e.jsonl",
             "\x1b[31mred.jsonl", "\u4e2d\U0001f600.jsonl", "*.jsonl", "x" * 240 + ".jsonl"]  # fmt: skip
    for name in names:
        tree.write_lines(f"trajectories/{name}", own(name))
    folder = os.fsencode(tree.raw / "trajectories")
    Path(os.fsdecode(folder + b"/bad\xff.jsonl")).write_bytes(json.dumps(own("bad")).encode())
    tree.write_parquet("mini_coder/x.parquet", pa.table({"messages": ['[{"role": "user", "content": "x"}]']}))
    (tree.raw / "mini_coder" / "x.parquet").rename(tree.raw / "mini_coder" / os.fsdecode(b"\xfe.parquet"))
    before = {path for path in tmp_path.rglob("*") if not path.is_relative_to(tree.out)}
    report = tree.land()
    assert {path for path in tmp_path.rglob("*") if not path.is_relative_to(tree.out)} == before
    expected = {f"trajectories/{name}": name for name in names} | {"trajectories/bad\ufffd.jsonl": "bad"}
    assert dict(tree.values("own_trajectories", "artifact_id", "trajectory_id")) == expected
    assert tree.values("mini_coder_trajectories", "artifact_id") == ["mini_coder/\ufffd.parquet"]
    for path in tree.out.rglob("*.parquet"):
        assert path.stem in ("empty", "all") or set(path.stem) <= set("0123456789abcdef")
    assert report.n_read == len(names) + 2


def test_two_names_that_read_the_same_are_one_sentence(tree: Tree) -> None:
    (tree.raw / "trajectories").mkdir()
    for byte in (b"\xfe", b"\xff"):
        Path(os.fsdecode(os.fsencode(tree.raw / "trajectories") + b"/" + byte + b".jsonl")).write_bytes(b"")
    with pytest.raises(AssayError) as error:
        tree.land()
    assert "two files" in _one_sentence(error)


def test_the_summary_shows_no_control_characters(tree: Tree) -> None:
    tree.write("sn97/\x1b[2Jclear\nscreen", b"")
    tree.write("\x07bell", b"")
    text = summary(tree.land())
    assert "\\x1b[2Jclear\\nscreen" in text and "\\x07bell" in text
    assert all(letter.isprintable() or letter == "\n" for letter in text)


def test_the_folder_of_a_run_is_its_identity(tree: Tree) -> None:
    tree.write_lines(SAMPLES, sample("a", eval_run_id="other"))
    tree.write_json("sn97/any/depth/run-7/verdict.json", {"state": "failed", "eval_run_id": 5})
    tree.write_json("sn97/any/depth/run-8/verdict.json", {"state": "failed", "eval_run_id": None})
    tree.write_json("sn97/verdict.json", {"state": "failed"})
    tree.write_json("gateway/f/runs/run-a/config.json", {"run": "other", "steps": 1})
    tree.write_json("sn120/evals/chal-00614.json.gz", {"job_id": "j"})
    report = tree.land()
    assert tree.values("sn97_generated_samples", "eval_run_id", "stated_eval_run_id") == [(RUN, "other")]
    assert tree.values("sn97_verdicts", "eval_run_id", "stated_eval_run_id") == [("run-8", None)]
    assert tree.values("gateway_run_configs", "fixture", "run", "other_fields") == [("f", "run-a", '{"run":"other"}')]
    assert tree.values("sn120_duels", "challenge_id") == ["chal-00614"]
    assert report.reasons == {"wrong_type": 1}
    assert tree.artifact("sn97/verdict.json")["status"] == "unrecognised"


# a second run --------------------------------------------------------------------------------------------


def _small(tree: Tree) -> None:
    tree.write_lines(OWN, own("a"), b"bad")
    tree.write_lines("trajectories/two.jsonl", own("b"))
    tree.write_lines(SAMPLES, sample("s", challenger_turns=[{"role": "user", "content": "c"}]))


def _touch(path: Path) -> None:
    status = path.stat()
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1_000_000))


def test_a_second_run_reads_what_changed_and_drops_what_is_gone(tree: Tree) -> None:
    _small(tree)
    assert tree.land().n_read == 3
    first = _tables(tree.out)
    report = tree.land()
    assert (report.n_read, report.bytes_read) == (0, 0)
    assert report.reasons == {"invalid_json": 1}
    assert "the others had not changed" in summary(report)
    assert _tables(tree.out) == first

    path = tree.write_lines("trajectories/two.jsonl", own("c"), own("d"))
    _touch(path)
    assert tree.land().n_read == 1
    assert sorted(tree.values("own_trajectories", "trajectory_id")) == ["a", "c", "d"]

    _touch(tree.write(OWN, b""))
    assert tree.land().n_read == 1
    assert sorted(tree.values("own_trajectories", "trajectory_id")) == ["c", "d"]
    assert tree.rows("quarantine") == []

    path.unlink()
    (tree.raw / SAMPLES).unlink()
    report = tree.land()
    assert report.n_read == 0
    assert tree.values("artifacts", "artifact_id") == [OWN]
    for name in TABLES:
        assert [path.name for path in (tree.out / name).iterdir()] == ["empty.parquet"]


def test_files_that_change_places_are_both_read_again(tree: Tree) -> None:
    names = [tree.write_lines(f"trajectories/{name}.jsonl", own(name)) for name in ("a", "b")]
    for path in names:
        os.utime(path, ns=(10**18, 10**18))
    tree.land()
    names[0].rename(tree.raw / "trajectories" / "c")
    names[1].rename(names[0])
    (tree.raw / "trajectories" / "c").rename(names[1])
    assert tree.land().n_read == 2
    found = dict(tree.values("own_trajectories", "artifact_id", "trajectory_id"))
    assert found == {"trajectories/a.jsonl": "b", "trajectories/b.jsonl": "a"}


def test_a_file_written_over_in_place_with_its_time_set_back_is_read_again(tree: Tree) -> None:
    path = tree.write_lines(OWN, own("a"))
    status = path.stat()
    tree.land()
    path.write_bytes(json.dumps(own("b")).encode() + b"\n")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert tree.land().n_read == 1
    assert tree.values("own_trajectories", "trajectory_id") == ["b"]


def test_a_link_that_points_elsewhere_is_another_file(tree: Tree) -> None:
    targets = [tree.write_lines(f"notes/{name}", own(name)) for name in ("a", "b")]
    for path in targets:
        os.utime(path, ns=(10**18, 10**18))
    link = tree.raw / "trajectories" / "own.jsonl"
    link.parent.mkdir()
    for target, expected in zip(targets, ("a", "b"), strict=True):
        link.unlink(missing_ok=True)
        link.symlink_to(target)
        assert tree.land().n_read == 1
        assert tree.values("own_trajectories", "trajectory_id") == [expected]


def test_a_checkpoint_is_known_by_its_hash_whatever_the_file_system_says(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_module, "identity", lambda status: [1])
    path = tree.write(CHECKPOINT, b"one")
    other = tree.write_lines(OWN, own("a"))
    tree.land()
    path.write_bytes(b"two")
    other.write_bytes(json.dumps(own("b")).encode() + b"\n")
    assert tree.land().n_read == 1
    assert tree.artifact(CHECKPOINT)["sha256"] == hashlib.sha256(b"two").hexdigest()


def test_a_damaged_landed_file_is_made_again(tree: Tree) -> None:
    _small(tree)
    tree.land()
    first = _tables(tree.out)
    stem = next(path for path in (tree.out / "sn97_messages").glob("*.parquet") if path.stem != "empty")
    stem.write_bytes(stem.read_bytes()[:100])
    assert tree.land().n_read == 1
    assert _tables(tree.out) == first


def test_output_that_is_gone_is_made_again(tree: Tree) -> None:
    _small(tree)
    tree.land()
    first = _tables(tree.out)
    for table in ("sn97_messages", "quarantine"):
        next(path for path in (tree.out / table).glob("*.parquet") if path.stem != "empty").unlink()
    (tree.out / "own_messages" / "empty.parquet").unlink()
    (tree.out / "sn97_faults" / "empty.parquet").write_bytes(b"half a fi")
    (tree.out / "artifacts" / "all.parquet").unlink()
    assert tree.land().n_read == 2
    assert _tables(tree.out) == first


@pytest.mark.parametrize("content", ["", "{", "SQLite format 3\0" * 100, "half", "other form"])
def test_a_state_that_cannot_be_used_means_reading_everything(tree: Tree, content: str) -> None:
    _small(tree)
    tree.land()
    first = _tables(tree.out)
    state = tree.out / STATE_FILE
    if content == "half":
        state.write_bytes(state.read_bytes()[: state.stat().st_size // 2])
    elif content == "other form":
        with contextlib.closing(sqlite3.connect(state)) as file:
            file.execute("pragma user_version = 99")
    else:
        state.write_text(content)
    assert tree.land().n_read == 3
    assert _tables(tree.out) == first
    assert tree.land().n_read == 0


def test_another_root_limit_or_code_means_reading_everything(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    _small(tree)
    tree.land()
    other = tree.folder / "other"
    shutil.copytree(tree.raw, other)
    (other / OWN).unlink()
    assert land_tree(other, tree.out, 1).n_read == 2
    assert tree.values("own_trajectories", "trajectory_id") == ["b"]
    assert tree.land().n_read == 3
    assert tree.land(max_line_megabytes=1).n_read == 3
    monkeypatch.setattr(run_module, "code_fingerprint", lambda *_: "newer")
    assert tree.land(max_line_megabytes=1).n_read == 3


def test_stale_files_of_our_naming_go_and_others_stay(tree: Tree) -> None:
    _small(tree)
    tree.land()
    first = _tables(tree.out)
    (tree.out / "own_messages" / f"{'0' * 32}.parquet").write_bytes(b"old")
    (tree.out / "sn97_messages" / f"{'0' * 32}.part").write_bytes(b"old")
    (tree.out / "quarantine" / "all.parquet").write_bytes(b"old")
    (tree.out / "own_messages" / "note.txt").write_bytes(b"mine")
    assert tree.land().n_read == 0
    assert _tables(tree.out) == first
    assert (tree.out / "own_messages" / "note.txt").exists()


# faults on the way ---------------------------------------------------------------------------------------


def test_after_a_kill_the_next_run_makes_the_same_and_only_what_is_left(tree: Tree) -> None:
    for index in range(6):
        tree.write_lines(f"trajectories/{index}.jsonl", *(own(f"{index} {line}", "x" * 2000) for line in range(800)))
    (tree.folder / "whole").mkdir()
    whole = Tree(tree.folder / "whole")
    shutil.copytree(tree.raw, whole.raw, dirs_exist_ok=True)
    whole.land()
    process = _assay("land", tree.raw, "--out", tree.out, "--workers", "2")
    # Killed while it is at work: when the first files are whole.
    until = time.monotonic() + 60
    while len(list(tree.out.glob("own_messages/?*.parquet"))) < 3 and time.monotonic() < until:
        time.sleep(0.005)
    process.kill()
    process.wait()
    report = tree.land()
    assert 0 < report.n_read < 6
    artifacts = "artifacts/all.parquet"
    assert {**_tables(tree.out), artifacts: b""} == {**_tables(whole.out), artifacts: b""}


@pytest.mark.parametrize("fault", [AssayError("x cannot be read"), KeyboardInterrupt(), RuntimeError("bug")])
def test_after_an_interrupted_run_the_next_one_is_right(
    tree: Tree, monkeypatch: pytest.MonkeyPatch, fault: BaseException
) -> None:
    _small(tree)
    (tree.folder / "whole").mkdir()
    whole = Tree(tree.folder / "whole")
    shutil.copytree(tree.raw, whole.raw, dirs_exist_ok=True)
    whole.land()
    calls: list[str] = []

    def land(artifact: Artifact, write: Write, max_line_bytes: int) -> Landed:
        calls.append(artifact.artifact_id)
        if len(calls) == 2:
            raise fault
        return artifact_module.land(artifact, write, max_line_bytes)

    monkeypatch.setattr(run_module, "land", land)
    with pytest.raises(type(fault)):
        tree.land()
    monkeypatch.undo()
    assert tree.land().n_read == 2
    artifacts = "artifacts/all.parquet"
    one, other = _tables(tree.out), _tables(whole.out)
    assert {**one, artifacts: b""} == {**other, artifacts: b""}


def test_a_full_disk_is_one_sentence_and_leaves_no_half_file(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    _small(tree)
    full = OSError(errno.ENOSPC, "No space left on device")

    def refuse(*_: Any, **__: Any) -> None:
        raise full

    for name in ("write_batch", "close"):
        with monkeypatch.context() as patch:
            patch.setattr(pq.ParquetWriter, name, refuse)
            with pytest.raises(AssayError) as error:
                land_tree(tree.raw, tree.out, 1)
        assert "cannot write below" in _one_sentence(error) and "free some space" in _one_sentence(error)
        for path in tree.out.rglob("*"):
            assert path.is_dir() or path.name in ("empty.parquet", *OURS)
    tree.land()
    assert len(tree.rows("own_trajectories")) == 2


def test_a_really_full_disk(tree: Tree) -> None:
    tree.write_lines(OWN, *(own(str(index), os.urandom(60_000).hex()) for index in range(100)))
    tree.out.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(tree.out)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("no right to mount a small disk")
    try:
        with pytest.raises(AssayError) as error:
            land_tree(tree.raw, tree.out, 1)
        assert "No space left on device; free some space" in _one_sentence(error)
        names = {path.name for path in tree.out.rglob("*") if path.is_file()}
        assert names <= {"empty.parquet", *OURS}
    finally:
        subprocess.run(["umount", str(tree.out)], check=True)


@pytest.mark.parametrize(("n_more", "compression"), [(0, "UNCOMPRESSED"), (200, "ZSTD")])
def test_only_a_file_that_is_tiny_as_a_whole_is_written_plainly(tree: Tree, n_more: int, compression: str) -> None:
    # The line that is too long ends the first batch after one small row.
    more = [{"sample_id": str(number), "prompt": "x" * 10_000} for number in range(n_more)]
    tree.write_lines(SAMPLES, {"sample_id": "a"}, b"x" * (1 << 20), *more)
    report = land_tree(tree.raw, tree.out, 1, 1)
    assert [row["n_rows"] for row in report.artifacts] == [n_more + 1]
    (path,) = (found for found in (tree.out / "sn97_generated_samples").iterdir() if found.name != "empty.parquet")
    column = pq.read_metadata(path).row_group(0).column(0)
    assert column.compression == compression
    assert path.stat().st_size < 100_000
    assert [row["sample_id"] for row in pq.read_table(path).to_pylist()] == ["a", *map(str, range(n_more))]


def test_an_output_folder_without_a_name_in_utf8_is_one_sentence(tree: Tree) -> None:
    _small(tree)
    with pytest.raises(AssayError) as error:
        land_tree(tree.raw, Path(os.fsdecode(os.fsencode(tree.folder) + b"/\xff")), 1)
    assert "has a name that is not UTF-8: name another to land in" in _one_sentence(error)


def test_an_output_folder_that_takes_nothing_is_one_sentence(tree: Tree) -> None:
    _small(tree)
    (tree.folder / "file").write_bytes(b"")
    for folder in (tree.folder / "file", tree.folder / "file" / "below"):
        with pytest.raises(AssayError) as error:
            land_tree(tree.raw, folder, 1)
        assert "cannot write below" in _one_sentence(error)
    tree.land()
    blocked = {
        "artifacts": tree.out / "artifacts",
        STATE_FILE: tree.out / STATE_FILE,
        "sn97_messages": tree.out / "sn97_messages",
    }
    for path in blocked.values():
        shutil.rmtree(path, ignore_errors=True)
        path.unlink(missing_ok=True)
        if path.name == STATE_FILE:
            path.mkdir()
        else:
            path.write_bytes(b"")
        with pytest.raises(AssayError) as error:
            land_tree(tree.raw, tree.out, 1)
        assert f"cannot write below {tree.out}" in _one_sentence(error)
        shutil.rmtree(path, ignore_errors=True)
        path.unlink(missing_ok=True)
    stem = next(path.stem for path in (tree.out / "own_messages").glob("*.parquet") if path.stem != "empty")
    (tree.out / "own_messages" / f"{stem}.parquet").unlink()
    (tree.out / "own_messages" / f"{stem}.parquet").mkdir()
    with pytest.raises(AssayError) as error:
        land_tree(tree.raw, tree.out, 1)
    assert f"cannot write below {tree.out}" in _one_sentence(error)


def test_a_folder_without_the_right_to_write_is_one_sentence(tree: Tree) -> None:
    if os.geteuid() == 0:
        pytest.skip("permissions do not bind the superuser")
    tree.out.mkdir(mode=0o500)
    with pytest.raises(AssayError) as error:
        tree.land()
    assert "Permission denied" in _one_sentence(error)


def test_a_file_that_goes_away_while_it_is_read_is_one_sentence(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tree.write_lines(OWN, own("a"))
    find = run_module.find_artifacts

    def find_and_remove(root: Path, follow_links_out: bool) -> Any:
        found = find(root, follow_links_out)
        path.unlink()
        return found

    monkeypatch.setattr(run_module, "find_artifacts", find_and_remove)
    with pytest.raises(AssayError) as error:
        land_tree(tree.raw, tree.out, 1)
    assert "own.jsonl cannot be read: No such file" in _one_sentence(error)


@pytest.mark.parametrize(("workers", "megabytes"), [(0, 1), (-1, 1), (1, 0), (1, -5)])
def test_numbers_that_make_no_sense_are_one_sentence(tree: Tree, workers: int, megabytes: int) -> None:
    with pytest.raises(AssayError) as error:
        tree.land(workers, megabytes)
    assert "set it to 1 or more" in _one_sentence(error)


# processes and memory ------------------------------------------------------------------------------------


def test_one_worker_and_two_write_the_same_bytes(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    _small(tree)
    tree.write_lines("trajectories/big.jsonl", *(own(str(index), "x" * 50_000) for index in range(100)), b"bad")
    tree.write_lines(SCORES, score("a"), *(b'{"sample_id":"b","king_score":tru}' for _ in range(200)))
    deep = b'{"messages":[{"role":"user","text":"x"}],"deep":' + b"[" * 199 + b"]" * 199 + b"}"
    tree.write_lines("trajectories/deep.jsonl", deep, deep.replace(b"[[", b"[[[").replace(b"]]", b"]]]"))
    monkeypatch.setattr(run_module, "_ALONE_BYTES", 0)
    tree.land(workers=1)
    one = _tables(tree.out)
    shutil.rmtree(tree.out)
    tree.land(workers=2)
    assert _tables(tree.out) == one


def _hear_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _assay(*words: str | Path, **options: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "assay.cli", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # A shell that runs the tests in the background has them ignore Ctrl-C, and a child would inherit that.
        preexec_fn=_hear_interrupts,
        **options,
    )


# A process starts with the peak of the one that started it in `ru_maxrss`, so Linux is asked for its own.
_GROWS = """
import resource, sys
from pathlib import Path
from assay.landing.run import land_tree
raw, out = map(Path, sys.argv[1:])
land_tree(raw, out, 1, 16)
status = Path("/proc/self/status")
if status.exists():
    print(next(line.split()[1] for line in status.read_text().splitlines() if line.startswith("VmHWM")))
else:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1024 if sys.platform == "darwin" else 1))
"""


def test_what_is_too_long_or_too_many_is_quarantined_in_flat_memory(tree: Tree) -> None:
    tree.raw.joinpath("trajectories").mkdir()
    with (tree.raw / "trajectories" / "line.jsonl").open("wb") as file:
        file.write(b'{"id":"')
        file.truncate(300 << 20)
    # One line all the same: the members of a gzip file are one text.
    tree.write("trajectories/bomb.jsonl.gz", gzip.compress(b"\0" * (64 << 20)) * 8)
    tree.write_json("sn120/evals/chal-1.json", b'{"x":"' + b"y" * (40 << 20) + b'"}')
    tree.write("trajectories/table.jsonl", b"1,2\n" * 60_000)
    started = time.monotonic()
    finished = subprocess.run(
        [sys.executable, "-c", _GROWS, tree.raw, tree.out], capture_output=True, text=True, check=True
    )
    assert time.monotonic() - started < 60
    assert int(finished.stdout) < 400_000
    found = {row["file"]: row for row in tree.rows("quarantine") if row["file"] != "trajectories/table.jsonl"}
    assert {file: (row["line"], row["reason"], row["detail"]) for file, row in found.items()} == {
        "sn120/evals/chal-1.json": (1, "line_too_long", f"{(40 << 20) + 8} bytes"),
        "trajectories/bomb.jsonl.gz": (1, "line_too_long", f"{512 << 20} bytes"),
        "trajectories/line.jsonl": (1, "line_too_long", f"{300 << 20} bytes"),
    }
    assert found["trajectories/line.jsonl"]["excerpt"] == '{"id":"' + "\0" * 193
    table = next(path for path in (tree.out / "quarantine").glob("*.parquet") if pq.read_metadata(path).num_rows > 1)
    assert pq.read_metadata(table).num_row_groups == 2
    lines = [row["line"] for row in tree.rows("quarantine") if row["file"] == "trajectories/table.jsonl"]
    assert lines == list(range(1, 60_001))


def test_the_command_says_what_it_found(tree: Tree) -> None:
    _small(tree)
    process = _assay("land", tree.raw, "--out", tree.out)
    stdout, stderr = process.communicate(timeout=60)
    assert (process.returncode, stderr) == (0, "")
    assert "trajectories: 2 files, 3 lines, 1 quarantined\n" in stdout
    assert "quarantined as invalid_json: 1" in stdout


def test_the_command_ends_with_2_and_one_sentence_on_a_fault(tree: Tree, tmp_path: Path) -> None:
    (tree.raw / "trajectories").mkdir()
    (tree.raw / "trajectories" / "gone.jsonl").symlink_to("nowhere")
    bad = os.fsdecode(os.fsencode(tmp_path) + b"/\xff")
    for root in (tree.raw, tmp_path / "absent", Path(bad)):
        process = _assay("land", root, "--out", tree.out)
        stdout, stderr = process.communicate(timeout=60)
        assert (process.returncode, stdout) == (2, "")
        assert stderr.startswith("assay: ") and stderr.count("\n") == 1


def _group(leader: int) -> list[int]:
    """The processes of a group that still live."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if fields[2] == str(leader) and fields[0] != "Z":
                found.append(int(entry.name))
    return found


def _gone(leader: int, seconds: float = 10) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if not _group(leader):
            return True
        time.sleep(0.05)
    return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks processes up in /proc")
@pytest.mark.parametrize("how", ["interrupt", "kill"])
def test_a_run_that_is_stopped_leaves_no_process_behind(tree: Tree, how: str) -> None:
    for index in range(4):
        tree.write(f"trajectories/{index}.jsonl", b'{"turns":[{"from":"","text":"x"}]}\n' * 400_000)
    process = _assay("land", tree.raw, "--out", tree.out, "--workers", "2")
    until = time.monotonic() + 30
    # The workers read once two files are on their way.
    while len(list(tree.out.glob("own_trajectories/????????????*.part"))) < 2 and time.monotonic() < until:
        time.sleep(0.02)
    assert len(_group(process.pid)) >= 3
    if how == "interrupt":
        os.killpg(process.pid, signal.SIGINT)
    else:
        process.kill()
    started = time.monotonic()
    stderr = process.communicate(timeout=30)[1]
    assert time.monotonic() - started < 5
    if how == "interrupt":
        assert process.returncode == 130
        assert stderr.splitlines()[-1] == "assay: stopped" and "Traceback" not in stderr
    assert _gone(process.pid)
    for path in tree.out.rglob("*.parquet"):
        pq.read_schema(path)
    # The next run is right, whatever the stopped one left.
    for index in range(4):
        _touch(tree.write_lines(f"trajectories/{index}.jsonl", own(str(index))))
    tree.land()
    assert sorted(tree.values("own_trajectories", "trajectory_id")) == ["0", "1", "2", "3"]


def test_the_step_leaves_views_and_one_sentence(tree: Tree, tmp_path: Path) -> None:
    _small(tree)
    # A folder whose name would be a pattern.
    out = tmp_path / "it's [a] *?"
    session = session_of_a_run()
    assert len(landing_step(session, "artifacts", str(tree.raw), str(out), 16).fetchall()) == 3
    assert session.sql("select trajectory_id from landing.own_trajectories order by 1").fetchall() == [("a",), ("b",)]
    assert session.sql("select line, reason from landing.quarantine").fetchall() == [(2, "invalid_json")]
    assert session.sql("select * from landing.faults").fetchall() == []
    gone = tmp_path / "\u4e2d gone"
    assert landing_step(session, "artifacts", str(gone), str(out), 16).fetchall() == []
    ((sentence,),) = session.sql("select sentence from landing.faults").fetchall()
    assert sentence.startswith(f"the raw root {gone} does not exist")


def test_hostile_files_of_every_kind_at_once_do_not_meet(tree: Tree) -> None:
    _small(tree)
    for name in (CHUNK, SCORES, CHECKPOINT, "sn120/evals/index.jsonl", "tokenizer/tokenizer.json", "sn97/state.json"):
        tree.write(name, b"\x1f\x8b\x08\x00 not gzip at all")
    tree.land()
    assert len(tree.rows("own_trajectories")) == 2
    statuses = {row["artifact_id"]: row["status"] for row in tree.rows("artifacts")}
    assert statuses["tokenizer/tokenizer.json"] == "listed"
