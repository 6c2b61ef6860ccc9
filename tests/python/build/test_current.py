"""A build is skipped where nothing changed, and only there; bytes that changed without a trace are found."""

import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from assay.build import command
from assay.build.current import RECORD_FILE, forget_changed
from assay.landing.run import find_artifacts, land_tree
from assay.steps.state import STATE_FILE, identity
from dbt_project import REPOSITORY

SAMPLE = REPOSITORY / "tests" / "fixtures" / "raw"
FILE = "raw/trajectories/a.jsonl"


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., bool]:
    """A small project that was built; the function builds it again and says whether that ran dbt."""
    for name in ("models", "macros", "tests", "seeds", "tokenizer", "raw/trajectories", "exports/mixes"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("models/m.sql", "macros/m.sql", "tests/t.sql", "seeds/s.csv", "profiles.yml", "dbt_project.yml"):
        (tmp_path / name).write_text("")
    shutil.copyfile(SAMPLE / "tokenizer" / "tokenizer.json", tmp_path / "tokenizer" / "tokenizer.json")
    for place in sorted((SAMPLE / "trajectories").rglob("*.jsonl"))[:1]:
        shutil.copyfile(place, tmp_path / FILE)
    for name in [name for name in os.environ if name.startswith(("ASSAY_", "DBT_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("ASSAY_RAW_ROOT", "raw")
    monkeypatch.setenv("ASSAY_TOKENIZER", "tokenizer")
    monkeypatch.chdir(tmp_path)
    ran: list[list[str]] = []

    def fake(words: list[str], verbose: bool, path: str) -> int:
        ran.append(words)
        land_tree(Path("raw"), Path(f"{path}.landing"), workers=1)
        Path(path).write_text(f"{len(ran)} builds")
        Path("exports/mixes/a.jsonl").write_text("{}")
        Path("exports/MANIFEST.json").write_text(json.dumps({"files": [{"file": "mixes/a.jsonl"}]}))
        return int("fails" in os.environ.get("ASSAY_TEST", ""))

    monkeypatch.setattr(command, "_built", fake)

    def again(*words: str, verify: bool = False) -> bool:
        before = len(ran)
        assert command.run(list(words), False, verify) == int("fails" in os.environ.get("ASSAY_TEST", ""))
        return len(ran) > before

    assert again()
    return again


def test_what_is_unchanged_is_not_built_and_that_is_said(
    built: Callable[..., bool], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    monkeypatch.setenv("ASSAY_THREADS", "1")
    assert not built()
    assert capsys.readouterr().out.startswith(
        "Nothing changed since the last build: of 1 files none was read, no table was made.\n"
    )


def _append(name: str) -> Callable[[], None]:
    def change() -> None:
        with Path(name).open("a") as file:
            file.write("\n")

    return change


def _rename() -> None:
    Path(FILE).rename("raw/trajectories/b.jsonl")


def _set_time_back() -> None:
    status = Path(FILE).stat()
    Path(FILE).write_bytes(Path(FILE).read_bytes().replace(b"1", b"2", 1))
    os.utime(FILE, ns=(status.st_atime_ns, status.st_mtime_ns))


CHANGES: dict[str, Callable[[], object]] = {
    **{
        name: _append(name)
        for name in (
            FILE, "raw/trajectories/new.jsonl", "raw/other", "models/m.sql", "macros/m.sql", "tests/t.sql",
            "seeds/s.csv", "profiles.yml", "dbt_project.yml", "tokenizer/tokenizer.json", "warehouse.duckdb",
            "exports/mixes/a.jsonl", "exports/MANIFEST.json",
        )
    },
    "a file goes": lambda: Path(FILE).unlink(),
    "a file is renamed": _rename,
    "bytes change under the same size and time": _set_time_back,
    "a landed file is cut": lambda: os.truncate(next(Path("warehouse.duckdb.landing").rglob("*.parquet")), 5),
    "a landed file goes": lambda: next(Path("warehouse.duckdb.landing").rglob("*.parquet")).unlink(),
    "an export goes": lambda: Path("exports/mixes/a.jsonl").unlink(),
    "the record is damaged": lambda: Path("warehouse.duckdb.landing", RECORD_FILE).write_text("[1"),
    "a var is set": lambda: Path("dbt_project.yml").write_text("vars: {ruleset: v4}"),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_changes_is_built_again_and_then_it_is_current(built: Callable[..., bool], change: str) -> None:
    CHANGES[change]()
    assert built()
    assert not built()


@pytest.mark.parametrize("words", [["--vars", "ruleset: v4"], ["--vars={ruleset: v4}"]])
def test_vars_of_the_command_line_are_part_of_a_build(built: Callable[..., bool], words: list[str]) -> None:
    assert built(*words)
    assert not built(*words)
    assert built()


@pytest.mark.parametrize("words", [["--select", "m"], ["--full-refresh"], ["--vars", "ruleset: v4", "--exclude", "m"]])
def test_whoever_asks_for_something_gets_it(built: Callable[..., bool], words: list[str]) -> None:
    assert built(*words)
    assert built(*words)
    assert built()


def test_a_variable_that_names_something_else_is_another_build(
    built: Callable[..., bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ASSAY_TOKENIZER")
    assert built()


def test_a_build_that_failed_is_tried_again(built: Callable[..., bool], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_TEST", "fails")
    assert built()
    assert built()


def test_verify_finds_bytes_that_changed_without_a_trace(
    built: Callable[..., bool], capsys: pytest.CaptureFixture[str]
) -> None:
    assert not built(verify=True)
    landing = Path("warehouse.duckdb.landing")
    Path(FILE).write_bytes(Path(FILE).read_bytes().replace(b"1", b"2", 1))
    with sqlite3.connect(landing / STATE_FILE) as state:
        (stamp,) = state.execute("select stamp from made where step = 'landing'").fetchone()
        told = [*json.loads(stamp)[:2], *identity(Path(FILE).stat())]
        state.execute("update made set stamp = ?", [json.dumps(told)])
    assert land_tree(Path("raw"), landing, workers=1).n_read == 0
    artifacts, _ = find_artifacts(Path("raw"))
    assert forget_changed(landing, artifacts) == ["trajectories/a.jsonl"]
    assert land_tree(Path("raw"), landing, workers=1).n_read == 1
    assert forget_changed(landing, artifacts) == []
