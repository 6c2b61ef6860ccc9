"""The promotion record as a build writes it, from the warehouse's tables."""

import hashlib
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from assay.errors import AssayError
from assay.landing.step import leave_fault
from assay.promotion.record import Tables, write_record

FILES = pa.schema([("file", pa.string()), ("bytes", pa.int64()), ("sha256", pa.string())])
"""One row a written file; `file` is its path below the exports folder."""


def export_step(
    session: duckdb.DuckDBPyConnection, model: str, exports: str, tables: dict[str, duckdb.DuckDBPyRelation]
) -> duckdb.DuckDBPyRelation:
    """Write the record of every fixture with a checkpoint that was decided on; returns the table of `FILES`.

    A table with a column `fixture` is divided by it, others are handed to every record. A folder that cannot be
    written to is left in the warehouse as a fault; the result is then empty.
    """
    folder = Path(exports)
    try:
        written = write_record(folder, _by_fixture(tables))
        rows = [
            {"file": name, "bytes": size, "sha256": hashlib.sha256((folder / name).read_bytes()).hexdigest()}
            for name, size in written
        ]
    except (AssayError, OSError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        leave_fault(session, model, f"the promotion record cannot be written below {exports}: {reason}")
        return session.from_arrow(FILES.empty_table())
    leave_fault(session, model, None)
    return session.from_arrow(pa.Table.from_pylist(rows, schema=FILES))


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
