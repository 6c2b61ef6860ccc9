"""The promotion record as a build writes it, from the warehouse's tables."""

from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from assay.exporting import size_and_hash
from assay.promotion.record import Tables, write_record
from assay.steps.warehouse import step_of_a_model

FILES = pa.schema([("file", pa.string()), ("bytes", pa.int64()), ("sha256", pa.string())])
"""One row a written file; `file` is its path below the exports folder."""


@step_of_a_model(FILES)
def export_step(
    session: duckdb.DuckDBPyConnection, exports: str, tables: dict[str, duckdb.DuckDBPyRelation]
) -> duckdb.DuckDBPyRelation:
    """Write the record of every fixture with a checkpoint that was decided on; returns the table of `FILES`.

    A table with a column `fixture` is divided by it, others are handed to every record.
    """
    folder = Path(exports)
    written = write_record(folder, _by_fixture(tables))
    listed = [{"file": name, "bytes": size, "sha256": size_and_hash(folder / name)[1]} for name, size in written]
    return session.from_arrow(pa.Table.from_pylist(listed, schema=FILES))


def _by_fixture(tables: dict[str, duckdb.DuckDBPyRelation]) -> dict[str, Tables]:
    rows = {name: _rows(relation) for name, relation in tables.items()}
    fixtures = sorted({row["fixture"] for row in rows["decisions"]})
    return {
        fixture: {
            name: [row for row in table if row.get("fixture", fixture) == fixture] for name, table in rows.items()
        }
        for fixture in fixtures
    }


def _rows(relation: duckdb.DuckDBPyRelation) -> list[dict[str, Any]]:
    """The rows in one order on every machine: by all columns, the first ones being the key."""
    result: list[dict[str, Any]] = relation.order("all").to_arrow_table().to_pylist()
    return result
