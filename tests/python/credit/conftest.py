import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from conftest import REPOSITORY, RunDbt

SHARED = REPOSITORY.parent / "shared"

MARTS = ["+credit", "+gates"]
OTHER_SOURCES = ["--exclude", "stg_sn120*", "stg_gateway*", "stg_mini_coder*", "resource_type:test", "resource_type:unit_test"]


def build(run_dbt: RunDbt, folder: Path, raw_root: Path) -> Path:
    """Build the credit and gate tables of a raw tree; their data tests run where a build runs them."""
    warehouse = folder / "warehouse.duckdb"
    finished = run_dbt("build", "--select", *MARTS, *OTHER_SOURCES, raw_root=raw_root, warehouse=warehouse)
    assert finished.returncode == 0, finished.stdout[-4000:]
    return warehouse


def rows(warehouse: Path, query: str) -> list[dict[str, Any]]:
    with duckdb.connect(str(warehouse), read_only=True) as connection:
        answer = connection.sql(query)
        return [dict(zip(answer.columns, row, strict=True)) for row in answer.fetchall()]


@pytest.fixture(scope="session")
def published(run_dbt: RunDbt, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The warehouse of the published-layout runs that lie beside the repository, where they do."""
    if not SHARED.is_dir():
        pytest.skip("needs ../shared")
    yield build(run_dbt, tmp_path_factory.mktemp("published"), SHARED / "raw")


@pytest.fixture(scope="session")
def examples(run_dbt: RunDbt, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The warehouse of the small example runs of every era, laid out as a raw tree."""
    if not SHARED.is_dir():
        pytest.skip("needs ../shared")
    folder = tmp_path_factory.mktemp("examples")
    source = SHARED / "raw" / "sn97_examples"
    for run in sorted(source.glob("*_run/*")):
        shutil.copytree(run, folder / "raw" / "sn97" / "runs" / run.name)
    for name in ("data", "sanity"):
        shutil.copytree(source / name, folder / "raw" / "sn97" / name)
    yield build(run_dbt, folder, folder / "raw")


def expected_json(name: str) -> Any:
    return json.loads((SHARED / "expected" / name).read_text(encoding="utf-8"))
