"""What a built warehouse says of itself: sources, tables, gates that failed with their first rows, exports."""

import contextlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb

from assay.names import shown

MAIN_TABLES = (
    ("duels", "credit.duels"),
    ("sides", "credit.sides"),
    ("turns", "credit.turns"),
    ("rows of mixes", "mixes.mix_rows"),
    ("teacher rows", "teacher.sft_rows"),
    ("decisions on checkpoints", "promotion.decisions"),
)
_FIRST_ROWS = 3
_FIRST_REASONS = 3
_WIDEST = 160


def sources(connection: duckdb.DuckDBPyConnection) -> Iterator[str]:
    """One line a source that the raw tree has, with the commonest reasons of what was not read."""
    found = connection.sql(
        "select source, count(*), sum(bytes), sum(n_lines), sum(n_quarantined), "
        "count(*) filter (where status = 'unrecognised') from staging.artifacts group by source order by source"
    ).fetchall()
    for source, files, size, lines, quarantined, unknown in found:
        words = f"{shown(source)}: {files:,} files, {(size or 0) / 1e6:,.1f} MB, {lines or 0:,} lines"
        if unknown:
            words += f", {unknown:,} files not recognised"
        if quarantined:
            words += f", {quarantined:,} quarantined ({_reasons(connection, source)})"
        yield words


def _reasons(connection: duckdb.DuckDBPyConnection, source: str) -> str:
    relation = connection.execute(
        "select reason, count(*) as n from staging.quarantine as q inner join staging.artifacts as a "
        "using (artifact_id) where a.source = ? group by reason order by n desc, reason limit ?",
        [source, _FIRST_REASONS],
    )
    return ", ".join(f"{shown(reason)} {count:,}" for reason, count in relation.fetchall())


def tables(connection: duckdb.DuckDBPyConnection) -> Iterator[str]:
    """How many rows each of the main tables has, those that are there and not empty."""
    for title, table in MAIN_TABLES:
        with contextlib.suppress(duckdb.CatalogException):
            ((count,),) = connection.sql(f"select count(*) from {table}").fetchall()
            if count:
                yield f"{count:,} {title}"


def failed_tests(connection: duckdb.DuckDBPyConnection, results: Path, database: str) -> Iterator[str]:
    """What failed or warned in the last run of dbt: its name in words, how many rows, and the first of them.

    `database` is how dbt's queries call the warehouse, which the connection calls otherwise.
    """
    for result in _results(results):
        if not str(result.get("unique_id")).startswith("test.") or result.get("status") not in ("fail", "warn"):
            continue
        name = shown(str(result["unique_id"]).split(".")[2].replace("_", " "))
        query = str(result.get("compiled_code") or "").replace(f'"{database}".', "")
        yield f"{result['status']}: {name} ({result.get('failures')} rows)"
        yield from (f"    {row}" for row in _first_rows(connection, query))


def _results(path: Path) -> Sequence[dict[str, Any]]:
    with contextlib.suppress(OSError, ValueError, KeyError):
        found: list[dict[str, Any]] = json.loads(path.read_bytes())["results"]
        return found
    return []


def _first_rows(connection: duckdb.DuckDBPyConnection, query: str) -> Iterator[str]:
    with contextlib.suppress(duckdb.Error):
        relation = connection.sql(f"select * from ({query}) limit {_FIRST_ROWS}")
        for row in relation.fetchall():
            cells = (f"{name} {value}" for name, value in zip(relation.columns, row, strict=True) if value is not None)
            words = shown(", ".join(cells))
            yield words if len(words) <= _WIDEST else f"{words[: _WIDEST - 1]}…"


def exports(folder: Path) -> str:
    """How many files the exports folder has and what says what they are; empty without any."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != ".gitignore"]
    if not (folder / "MANIFEST.json").is_file():
        return ""
    size = sum(path.stat().st_size for path in files)
    return f"{len(files):,} files, {size / 1e6:,.1f} MB in {shown(folder)}, listed in MANIFEST.json"
