"""The landing step as a build runs it: in a process of its own, with its result as views of the warehouse."""

import os
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import duckdb

from assay.landing.tables import ARTIFACTS, TABLES

SCHEMA = "landing"


def landing_step(
    session: duckdb.DuckDBPyConnection, model: str, raw_root: str, folder: str, max_line_megabytes: int
) -> duckdb.DuckDBPyRelation:
    """Land `raw_root` into `folder`, (re)create the views over it and return the `artifacts` relation.

    A fault the user can act on is left in the warehouse (`leave_fault`); the relation is then empty.
    """
    command = ["-m", "assay.cli", "land", raw_root, "--out", folder]
    command += ["--max-line-megabytes", str(max_line_megabytes)]
    if workers := os.environ.get("ASSAY_THREADS"):
        command += ["--workers", workers]
    fault = run_apart(command)
    leave_fault(session, model, fault)
    if fault is not None:
        return session.from_arrow(ARTIFACTS.empty_table())
    publish(session, folder, (*TABLES, "artifacts", "quarantine", "strangers"))
    return session.sql(f"select * from {SCHEMA}.artifacts order by artifact_id")


def run_apart(arguments: list[str], standard_input: str | None = None) -> str | None:
    """Run Python with these arguments and return its fault as one sentence, or None.

    A process of its own gives its memory back when it ends, and its pool never meets the threads of the caller.
    """
    finished = subprocess.run(
        [sys.executable, "-X", "utf8", *arguments],  # any file name in a message survives whatever the locale is
        input=standard_input,
        stdin=None if standard_input is not None else subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if finished.returncode == 0:
        return None
    last_words = finished.stderr.strip().splitlines() or [f"the step ended with code {finished.returncode}"]
    return last_words[-1].removeprefix("assay: ")


def leave_fault(session: duckdb.DuckDBPyConnection, model: str, fault: str | None) -> None:
    """Write the fault of a model, if there is one, where its post-hook `stop_on_fault` looks for it.

    A row a model: two models may be built at the same time. Schema and table are made before any step begins
    (`on-run-start`), since two steps that make them at once would fail each other.
    """
    session.execute(f"delete from {SCHEMA}.faults where model = ?", [model])
    if fault is not None:
        session.execute(f"insert into {SCHEMA}.faults values (?, ?)", [model, fault])


def publish(session: duckdb.DuckDBPyConnection, folder: str, names: Iterable[str]) -> None:
    """(Re)create a view for every named sub-folder of parquet files, by its absolute path."""
    root = Path(folder).resolve()
    for name in names:
        pattern = "'" + f"{_literal(str(root / name))}/*.parquet".replace("'", "''") + "'"
        session.execute(f"create or replace view {SCHEMA}.{name} as select * from read_parquet({pattern})")


def _literal(path: str) -> str:
    """A path as a glob pattern that means this path alone."""
    return re.sub(r"([\[*?])", r"[\1]", path)
