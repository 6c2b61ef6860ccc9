"""What is not described is not there for a reader: every column of the warehouse has a text, every model its grain."""

from pathlib import Path
from typing import Any

import duckdb
import yaml
from dbt_project import REPOSITORY


def _described(folder: str, kind: str) -> dict[str, dict[str, Any]]:
    """Models or seeds by name, as the YAML files of a folder describe them."""
    entries: dict[str, dict[str, Any]] = {}
    for path in sorted((REPOSITORY / folder).rglob("*.yml")):
        for entry in (yaml.safe_load(path.read_text()) or {}).get(kind) or ():
            assert entry["name"] not in entries, f"{entry['name']} is described twice, the second time in {path}"
            entries[entry["name"]] = entry
    return entries


def test_the_first_sentence_of_every_model_is_its_grain() -> None:
    models = _described("models", "models")
    files = {path.stem for suffix in ("sql", "py") for path in (REPOSITORY / "models").rglob(f"*.{suffix}")}
    assert set(models) == files
    for name, model in models.items():
        assert model["description"].startswith("One row per "), name


def test_every_column_of_the_warehouse_is_described(sample_warehouse: Path) -> None:
    described = {**_described("models", "models"), **_described("seeds", "seeds")}
    with duckdb.connect(str(sample_warehouse), read_only=True) as connection:
        columns = connection.sql(
            "select table_name, column_name from information_schema.columns "
            "where table_schema <> 'landing' order by all"
        ).fetchall()
    assert len(columns) > 2000
    texts = {
        (name, column["name"])
        for name, entry in described.items()
        for column in entry.get("columns", ())
        if column.get("description", "").strip()
    }
    assert [column for column in columns if column[0] in described and column not in texts] == []
