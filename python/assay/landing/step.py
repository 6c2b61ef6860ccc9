"""The landing step as a build runs it: in a process of its own, with its result as views of the warehouse."""

import os
import re
import subprocess
import sys
from pathlib import Path

import duckdb

from assay.landing.tables import ARTIFACTS, TABLES

SCHEMA = "landing"


def landing_step(
    session: duckdb.DuckDBPyConnection, raw_root: str, folder: str, max_line_megabytes: int
) -> duckdb.DuckDBPyRelation:
    """Land `raw_root` into `folder`, (re)create the views over it and return the `artifacts` relation.

    Landing runs as a process of its own, so that its memory ends with it and its pool never meets the threads of
    the caller. A fault the user can act on is one sentence in table `landing.fault`, which has no row otherwise;
    the relation is then empty.
    """
    session.execute(f"create schema if not exists {SCHEMA}")
    session.execute(f"create or replace table {SCHEMA}.fault (sentence varchar)")
    sentence = _land(raw_root, folder, max_line_megabytes)
    if sentence is not None:
        session.execute(f"insert into {SCHEMA}.fault values (?)", [sentence])
        return session.from_arrow(ARTIFACTS.empty_table())
    root = Path(folder).resolve()
    for name in (*TABLES, "artifacts", "quarantine"):
        pattern = _quoted(f"{_literal(str(root / name))}/*.parquet")
        session.execute(f"create or replace view {SCHEMA}.{name} as select * from read_parquet({pattern})")
    return session.sql(f"select * from {SCHEMA}.artifacts order by artifact_id")


def _land(raw_root: str, folder: str, max_line_megabytes: int) -> str | None:
    workers = os.environ.get("ASSAY_THREADS", "")
    # UTF-8 on both ends, so that any file name in a message survives whatever the locale is.
    command = [sys.executable, "-X", "utf8", "-m", "assay.cli", "land", raw_root, "--out", folder]
    command += ["--max-line-megabytes", str(max_line_megabytes)]
    if workers:
        command += ["--workers", workers]
    finished = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", check=False)
    if finished.returncode == 0:
        return None
    last_words = finished.stderr.strip().splitlines() or [f"landing ended with code {finished.returncode}"]
    return last_words[-1].removeprefix("assay: ")


def _literal(path: str) -> str:
    """A path as a glob pattern that means this path alone."""
    return re.sub(r"([\[*?])", r"[\1]", path)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
