"""The loop of all steps: what is made anew, what is left behind, and what a fault leaves."""

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest
from assay.errors import AssayError
from assay.steps import lock as lock_module
from assay.steps.lock import locked
from assay.steps.process import apart
from assay.steps.state import STATE_FILE, results, versions
from assay.steps.tables import is_sound
from assay.steps.warehouse import publish, step_of_a_model
from assay.steps.writing import whole, writing
from dbt_project import session_of_a_run
from doubling import DOUBLED, break_down, bring, die, echo, fail


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    folder = tmp_path / "inputs"
    folder.mkdir()
    for number in (1, 2, 3):
        (folder / f"n{number}.txt").write_text(str(number))
    return folder


@pytest.fixture(autouse=True)
def _importable_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))


def _doubled(folder: Path) -> list[int]:
    return sorted(pq.read_table(folder / "doubled")["number"].to_pylist())


# what is made anew ---------------------------------------------------------------------------------------


def test_only_what_changed_is_made_anew(inputs: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert bring(inputs, out).new == {"n1", "n2", "n3"}
    assert _doubled(out) == [2, 4, 6]
    before = versions(out, "doubling")
    assert bring(inputs, out).new == frozenset()
    (inputs / "n2.txt").write_text("5")
    outcome = bring(inputs, out)
    assert outcome.new == {"n2"} and outcome.results == {"n1": 1, "n2": 5, "n3": 3}
    assert _doubled(out) == [2, 6, 10]
    after = versions(out, "doubling")
    assert {key for key in after if after[key] != before[key]} == {"n2"}
    (inputs / "n3.txt").unlink()
    assert bring(inputs, out).new == frozenset()
    assert (_doubled(out), results(out, "doubling")) == ([2, 10], {"n1": 1, "n2": 5})
    assert len(bring(inputs, out, workers=2, fingerprint="2").new) == 2


def test_a_table_without_a_row_has_no_file_of_the_artifact(inputs: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    bring(inputs, out)
    assert sorted(path.name for path in (out / "odd").iterdir()) == ["empty.parquet", "n1.parquet", "n3.parquet"]
    (inputs / "n3.txt").write_text("4")
    bring(inputs, out)
    assert sorted(path.name for path in (out / "odd").iterdir()) == ["empty.parquet", "n1.parquet"]


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:100])


def _overwrite(path: Path) -> None:
    path.write_bytes(b"\0" * path.stat().st_size)


def _no_footer(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1] + b"x")


@pytest.mark.parametrize("damage", [_cut, _overwrite, _no_footer, Path.unlink])
def test_a_damaged_file_is_made_again(inputs: Path, tmp_path: Path, damage: Any) -> None:
    out = tmp_path / "out"
    bring(inputs, out)
    damage(out / "odd" / "n3.parquet")
    assert bring(inputs, out).new == {"n3"}
    assert pq.read_table(out / "odd" / "n3.parquet").to_pylist() == [{"text": "3 is odd"}]


def test_a_file_is_sound_with_its_size_and_both_marks(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    for data, size, expected in (
        (b"PAR1" + b"x" * 8 + b"PAR1", 16, True),
        (b"PAR1" + b"x" * 8 + b"PAR1", 17, False),
        (b"PAR2" + b"x" * 8 + b"PAR1", 16, False),
        (b"PAR1" + b"x" * 8 + b"PAR2", 16, False),
        (b"", 0, False),
        (b"P", 1, False),
    ):
        path.write_bytes(data)
        assert is_sound(path, size) is expected, data
    assert not is_sound(tmp_path, 0) and not is_sound(tmp_path / "gone", 0)


# faults and kills ----------------------------------------------------------------------------------------


def test_a_fault_keeps_what_was_made_and_leaves_no_part(inputs: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (inputs / "zz.txt").write_text("13")
    with pytest.raises(AssayError, match=r"^thirteen is refused$"):
        bring(inputs, out)
    assert not list(out.rglob("*.part")) and not (out / "doubled" / "zz.parquet").exists()
    (inputs / "zz.txt").unlink()
    assert bring(inputs, out).new == frozenset()


def test_a_row_goes_before_its_file_is_touched(inputs: Path, tmp_path: Path) -> None:
    # The content of n2 changes, the run is killed with the new file in place, and the old content is taken back.
    out = tmp_path / "out"
    bring(inputs, out)
    (inputs / "n2.txt").write_text("8")
    killed = f"""
import os, signal
from pathlib import Path
from assay.steps import runner
from doubling import bring
runner.State.put = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
bring(Path({str(inputs)!r}), Path({str(out)!r}))
"""
    ended = subprocess.run([sys.executable, "-c", killed], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert pq.read_table(out / "doubled" / "n2.parquet")["number"].to_pylist() == [16]
    (inputs / "n2.txt").write_text("2")
    assert bring(inputs, out).new == {"n2"}
    assert _doubled(out) == [2, 4, 6]


def test_parts_of_a_killed_run_are_swept_and_what_is_not_ours_stays(inputs: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    bring(inputs, out)
    (out / "odd" / "n9.parquet.part").write_bytes(b"half")
    (out / "odd" / "n8.parquet").write_bytes(b"of an artifact that is gone")
    (out / "odd" / "note.txt").write_text("mine")
    bring(inputs, out)
    assert {path.name for path in (out / "odd").iterdir()} == {
        "empty.parquet", "n1.parquet", "n3.parquet", "note.txt"
    }  # fmt: skip


def test_a_file_that_cannot_be_read_is_one_sentence(inputs: Path, tmp_path: Path, monkeypatch: Any) -> None:
    def gone(*_: object) -> int:
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr("doubling.double", gone)
    with pytest.raises(AssayError, match=r"n1\.txt cannot be read: No such file or directory$"):
        bring(inputs, tmp_path / "out")


def test_a_state_on_a_full_disk_is_one_sentence(inputs: Path, tmp_path: Path) -> None:
    error = sqlite3.OperationalError("database or disk is full")
    error.sqlite_errorcode = sqlite3.SQLITE_FULL
    expected = r"^cannot write below .*: database or disk is full; free some space"
    with pytest.raises(AssayError, match=expected), writing(tmp_path):
        raise error
    with contextlib.closing(sqlite3.connect(tmp_path / STATE_FILE)) as file:
        file.execute("create table made (other integer)")
    with pytest.raises(AssayError, match=r"^cannot write below "):
        bring(inputs, tmp_path)


@pytest.mark.parametrize("fault", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_files_get_their_names_together_or_not_at_all(tmp_path: Path, fault: BaseException) -> None:
    names = [tmp_path / "a", tmp_path / "b"]
    names[0].write_text("old")
    with pytest.raises(type(fault)), whole(*names) as parts:
        parts[0].write_text("new")
        raise fault
    assert [path.name for path in tmp_path.iterdir()] == ["a"] and names[0].read_text() == "old"
    with whole(*names) as parts:
        for part in parts:
            part.write_text("new")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a": "new", "b": "new"}


# one process a step and folder ---------------------------------------------------------------------------


def test_a_folder_that_another_process_works_in_is_one_sentence(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(lock_module, "SECONDS_TO_WAIT", 0.1)
    with locked(tmp_path, "landing"):
        with locked(tmp_path, "trajectories"):
            pass
        expected = rf"^process {os.getpid()} is at work in .* \(landing\): let it end"
        with pytest.raises(AssayError, match=expected), locked(tmp_path, "landing"):
            pass
    with locked(tmp_path, "landing"):
        pass


# processes -----------------------------------------------------------------------------------------------


def test_a_function_apart_returns_what_it_returns_there() -> None:
    path, text, value = Path(os.fsdecode(b"/\xff")), "\ud800", {1: DOUBLED.names}
    assert apart(echo, path, text, value) == (path, text, value)


def test_what_goes_wrong_apart_is_one_sentence() -> None:
    with pytest.raises(AssayError, match=r"^no: 中$"):
        apart(fail, "no: 中")
    with pytest.raises(AssayError, match=r"^the step die was killed by signal 9, perhaps for want of memory$"):
        apart(die, -9)
    with pytest.raises(AssayError, match=r"^the step die ended with code 5: $"):
        apart(die, 5)
    with pytest.raises(AssayError, match=r"^the step break_down ended with code 1: RuntimeError: a bug\\x1b\[2J$"):
        apart(break_down)


def test_a_step_ends_with_its_caller(tmp_path: Path) -> None:
    caller = f"""
from pathlib import Path
from assay.steps.process import apart
from doubling import wait_for_ever
apart(wait_for_ever, Path({str(tmp_path / "sign")!r}))
"""
    process = subprocess.Popen([sys.executable, "-c", caller])
    _wait_until(lambda: (tmp_path / "sign").exists() and bool((tmp_path / "sign").read_text()))
    process.kill()
    process.wait()
    step = int((tmp_path / "sign").read_text())
    _wait_until(lambda: not _lives(step))


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{process}/stat")
    return not (status.exists() and status.read_text().rpartition(")")[2].split()[0] == "Z")


def _wait_until(holds: Any, seconds: float = 30) -> None:
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.02)


# the warehouse -------------------------------------------------------------------------------------------


def test_a_fault_is_left_for_the_model_and_goes_with_the_next_run(tmp_path: Path) -> None:
    session = session_of_a_run()
    faults = ["it's \u4e2d"]

    @step_of_a_model(DOUBLED)
    def step(session: Any, number: int) -> Any:
        if faults:
            raise AssayError(faults.pop())
        return session.sql(f"select {number} as number")

    result = step(session, "a_model", 4)
    assert (result.columns, result.fetchall()) == (["number"], [])
    assert session.sql("from landing.faults").fetchall() == [("a_model", "it's \u4e2d")]
    assert step(session, "another", 4).fetchall() == [(4,)]
    assert len(session.sql("from landing.faults").fetchall()) == 1
    assert step(session, "a_model", 4).fetchall() == [(4,)]
    assert session.sql("from landing.faults").fetchall() == []


def test_a_warehouse_moves_with_its_folder(inputs: Path, tmp_path: Path) -> None:
    first = tmp_path / "it's [a] *"
    first.mkdir()
    bring(inputs, first / "w.duckdb.landing")
    with duckdb.connect(first / "w.duckdb") as session:
        session.execute("create schema landing")
        publish(session, str(first / "w.duckdb.landing"), ["doubled", "odd"])
        session.execute("create view main.above as select number from landing.doubled")
        assert session.sql("select sum(number) from main.above").fetchall() == [(12,)]
    # The old folder is still there, with other numbers: it must not be what is read.
    second = tmp_path / "second"
    second.mkdir()
    (first / "w.duckdb").rename(second / "w.duckdb")
    (first / "w.duckdb.landing").rename(second / "w.duckdb.landing")
    (inputs / "n1.txt").write_text("1000")
    bring(inputs, first / "w.duckdb.landing")
    for mode in (True, False):
        with duckdb.connect(second / "w.duckdb", read_only=mode) as session:
            assert session.sql("select sum(number) from main.above").fetchall() == [(12,)]
    # Attached, or copied under another name, it reads the folder it was built with.
    with duckdb.connect() as session:
        session.execute(f"attach '{second / 'w.duckdb'}' as other (read_only)")
        assert session.sql("select sum(number) from other.main.above").fetchall() == [(2010,)]
