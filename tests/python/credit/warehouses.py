"""How the tests of credit build a warehouse and read it."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb

SHARED = Path(__file__).parents[4] / "shared"

RunDbt = Callable[..., subprocess.CompletedProcess[str]]

SELECTED = [
    "--select",
    "+path:models/marts/credit",
    "+path:models/marts/gates",
    "+path:models/marts/mixes",
    "path:tests/data/credit",
    "path:tests/data/mixes",
]
LEFT_OUT = ["--exclude", "path:models/staging,resource_type:test", "resource_type:unit_test"]


def build(run_dbt: RunDbt, folder: Path, raw_root: Path, data_tests: bool = True) -> Path:
    """Build the credit, gate and mix tables of a raw tree, with all their data tests; return the warehouse."""
    warehouse = folder / "warehouse.duckdb"
    left_out = LEFT_OUT if data_tests else [*LEFT_OUT, "resource_type:test"]
    finished = run_dbt("build", *SELECTED, *left_out, raw_root=raw_root, warehouse=warehouse)
    assert finished.returncode == 0, finished.stdout[-4000:]
    return warehouse


def rows(warehouse: Path, query: str) -> list[dict[str, Any]]:
    with duckdb.connect(str(warehouse), read_only=True) as connection:
        answer = connection.sql(query)
        return [dict(zip(answer.columns, row, strict=True)) for row in answer.fetchall()]


def expected_json(name: str) -> Any:
    return json.loads((SHARED / "expected" / name).read_text(encoding="utf-8"))
