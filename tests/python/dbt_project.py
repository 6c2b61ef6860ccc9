"""The project under test and how a test runs dbt on it."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import duckdb

REPOSITORY = Path(__file__).parents[2]

RunDbt = Callable[..., subprocess.CompletedProcess[str]]


def session_of_a_run() -> duckdb.DuckDBPyConnection:
    """An empty warehouse in memory as a step meets it: what `on-run-start` makes is there."""
    session = duckdb.connect()
    session.execute("create schema landing; create table landing.faults (model varchar, sentence varchar)")
    return session
