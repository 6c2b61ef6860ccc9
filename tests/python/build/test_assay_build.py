"""`assay build`: what dbt's log and the warehouse say, and one sentence where nothing began."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import duckdb
import pytest
from assay.build.events import Build, read, reason
from assay.build.summary import exports, failed_tests
from dbt_project import REPOSITORY


def _event(name: str, message: str = "", **data: Any) -> str:
    return json.dumps({"info": {"name": name, "msg": message, "level": "info"}, "data": data})


def _node(kind: str, name: str) -> dict[str, str]:
    return {"node_name": name, "resource_type": kind, "unique_id": f"{kind}.assay.{name}"}


def test_progress_failures_and_reasons_come_from_the_log() -> None:
    build = Build()
    lines = [
        _event("MainReportVersion", "Running with dbt=1.11.16"),
        _event("LogStartLine", index=1, total=3, node_info=_node("model", "artifacts")),
        _event("LogModelResult", index=1, total=3, status="OK", node_info=_node("model", "artifacts")),
        _event("LogTestResult", index=2, status="pass", node_info=_node("test", "a")),
        _event("LogTestResult", index=3, status="fail", node_info=_node("test", "b")),
        _event("LogTestResult", index=4, status="warn", node_info=_node("test", "c")),
        _event("RunResultError", "  Got 3 results, configured to fail if != 0"),
        "Killed \x1b[2J",
        _event("LogModelResult", index=5, status="error", node_info=_node("model", "m")),
        _event(
            "RunResultError", "  Compilation Error in model m (models/m.sql)\n  no room is left\n\n  > in macro x (y)"
        ),
    ]
    done = [read(line, build) for line in lines]
    assert done == [False, True, True, True, True, True, False, False, True, False]
    assert (build.done, build.total, build.stage) == (5, 3, "building artifacts")
    assert build.failures == ["test.assay.b", "model.assay.m"]
    assert build.warnings == ["test.assay.c"]
    assert build.sentences == ["Killed \\x1b[2J", "no room is left"]


MISSING = "  Compilation Error in model a (b)\n  the raw root /x does not exist\n  \n  > in macro c (d)"
FRAME = "Runtime Error in model a (b)\n  Python model failed:\n"
TRACEBACK = FRAME + "  Traceback (most recent call last):\n    x = 1\n  ValueError: no"


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (MISSING, "the raw root /x does not exist"),
        (TRACEBACK, "ValueError: no"),
        ("\x1b[31mDatabase Error\x1b[0m\n  it is in use by process 7", "it is in use by process 7"),
        ("", ""),
    ],
)
def test_a_reason_is_one_sentence_without_a_frame(message: str, said: str) -> None:
    assert reason(message) == said


def test_a_failed_test_is_told_with_its_first_rows(tmp_path: Path) -> None:
    results = tmp_path / "run_results.json"
    query = "select 'a\x1b' as name, 1 as n union all select null, n from range(2, 9) as r (n)"
    tests: list[dict[str, Any]] = [
        {"unique_id": "test.assay.no_row_is_lost.1a", "status": "fail", "failures": 8, "compiled_code": query},
        {"unique_id": "test.assay.fine.2b", "status": "pass", "failures": 0, "compiled_code": "select 1"},
        {"unique_id": "test.assay.broken.3c", "status": "warn", "failures": 1, "compiled_code": "select * from gone"},
        {"unique_id": "test.assay.far.4d", "status": "warn", "failures": 1, "compiled_code": 'from "my"."credit"."t"'},
        {"unique_id": "model.assay.m", "status": "error", "compiled_code": "select 1"},
    ]
    results.write_text(json.dumps({"results": tests}))
    with duckdb.connect() as connection:
        connection.execute("create schema credit; create table credit.t as select 1 as n")
        assert list(failed_tests(connection, results, "my")) == [
            "fail: no row is lost (8 rows)",
            "    name a\\x1b, n 1",
            "    n 2",
            "    n 3",
            "warn: broken (1 rows)",
            "warn: far (1 rows)",
            "    n 1",
        ]
        assert list(failed_tests(connection, tmp_path / "absent.json", "my")) == []


def test_exports_are_counted_where_a_manifest_says_what_they_are(tmp_path: Path) -> None:
    assert exports(tmp_path / "absent") == ""
    (tmp_path / "a.jsonl").write_bytes(bytes(1_500_000))
    assert exports(tmp_path) == ""
    (tmp_path / "MANIFEST.json").write_text("{}")
    assert exports(tmp_path) == f"2 files, 1.5 MB in {tmp_path}, listed in MANIFEST.json"


def _start(folder: Path, *words: str, **settings: str) -> "subprocess.Popen[str]":
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("ASSAY_")},
        "ASSAY_DB": str(folder / "warehouse.duckdb"),
        "ASSAY_EXPORTS": str(folder / "exports"),
        "DBT_TARGET_PATH": str(folder / "target"),
        "DBT_LOG_PATH": str(folder / "logs"),
        **settings,
    }
    command = [sys.executable, "-m", "assay.cli", "build", *words]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=REPOSITORY, env=environment, stdout=pipe, stderr=pipe, text=True)


def _assay_build(folder: Path, *words: str, **settings: str) -> "subprocess.CompletedProcess[str]":
    process = _start(folder, *words, **settings)
    stdout, stderr = process.communicate()
    return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)


@pytest.mark.build
def test_a_raw_root_that_is_not_there_is_one_sentence_and_one_that_is_has_its_summary(tmp_path: Path) -> None:
    refused = _assay_build(tmp_path, "--select", "artifacts", ASSAY_RAW_ROOT=str(tmp_path / "nowhere"))
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.splitlines()[-1] == (
        f"assay: the raw root {tmp_path / 'nowhere'} does not exist: name a folder (ASSAY_RAW_ROOT)"
    )
    built = _assay_build(tmp_path, "--select", "artifacts", "quarantine")
    assert built.returncode == 0, built.stdout
    lines = built.stdout.splitlines()
    assert lines[0] == "Read:"
    assert "  trajectories: 1 files, 0.0 MB, 4 lines" in lines
    assert lines[-2] == f"Warehouse: {tmp_path / 'warehouse.duckdb'}"
    assert len(lines) < 20


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("deduplicate_references: 'false'", "the var deduplicate_references is the text 'false'"),
        ("max_row_token: 5", "there is no var max_row_token: did you mean max_row_tokens?"),
        ("near_duplicate_similarity: .nan", "the var near_duplicate_similarity is nan"),
    ],
)
def test_a_var_that_no_build_could_use_is_refused_before_dbt_begins(tmp_path: Path, given: str, words: str) -> None:
    refused = _assay_build(tmp_path, "--vars", given)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith(f"assay: {words}")
    assert not (tmp_path / "target").exists()


@pytest.mark.build
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks processes up in /proc")
def test_ctrl_c_is_one_sentence_and_leaves_no_process(tmp_path: Path) -> None:
    process = _start(tmp_path, "--select", "artifacts")
    dbt = None
    while dbt is None and process.poll() is None:
        dbt = next(iter(Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()), None)
    time.sleep(3)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    assert (process.returncode, stdout) == (130, "")
    assert stderr.splitlines()[-1] == "assay: stopped"
    assert dbt is not None and not Path(f"/proc/{dbt}").exists()


@pytest.mark.parametrize("name", ["credit.duckdb", "it's.duckdb"])
def test_a_warehouse_name_that_queries_could_not_use_is_refused_before_dbt_begins(tmp_path: Path, name: str) -> None:
    refused = _assay_build(tmp_path, ASSAY_DB=str(tmp_path / name))
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith("assay: ASSAY_DB is ")
    assert len(refused.stderr.splitlines()) == 1
