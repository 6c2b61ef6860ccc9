"""The house holds: layers run one way, what the DAG makes is a `ref`, and nothing is built that nobody reads."""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from dbt_project import REPOSITORY, RunDbt

# Which layer may read which. Beside these, exports read `artifacts`: what they came from.
MAY_READ = {
    "staging": {"seeds", "staging"},
    "intermediate": {"seeds", "staging", "intermediate"},
    "marts": {"seeds", "staging", "intermediate", "marts"},
    "exports": {"seeds", "marts", "exports"},
}

# Models in a row from the raw tree to an export: each is a step that a build waits for.
DEEPEST = 28


@pytest.fixture(scope="module")
def manifest(run_dbt: RunDbt, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What dbt makes of the project: read where a run has left it after the last change, else parsed."""
    left = REPOSITORY / "target" / "manifest.json"
    changed = max(
        path.stat().st_mtime
        for folder in ("models", "macros", "seeds", "tests/data")
        for path in (REPOSITORY / folder, REPOSITORY / "dbt_project.yml", *(REPOSITORY / folder).rglob("*"))
    )
    if not left.is_file() or left.stat().st_mtime < changed:
        folder = tmp_path_factory.mktemp("manifest")
        parsed = run_dbt("parse", warehouse=folder / "warehouse.duckdb", DBT_TARGET_PATH=str(folder))
        assert parsed.returncode == 0, parsed.stdout
        left = folder / "manifest.json"
    return dict(json.loads(left.read_bytes()))


@pytest.fixture(scope="module")
def models(manifest: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Models and seeds by their dbt id."""
    return {key: node for key, node in manifest["nodes"].items() if node["resource_type"] in ("model", "seed")}


def _layer(node: dict[str, Any]) -> str:
    return "seeds" if node["resource_type"] == "seed" else Path(node["path"]).parts[0]


def _parents(models: dict[str, dict[str, Any]], key: str) -> list[str]:
    return [parent for parent in models[key]["depends_on"].get("nodes", ()) if parent in models]


def test_layers_run_one_way(models: dict[str, dict[str, Any]]) -> None:
    against = {
        (node["name"], models[parent]["name"])
        for key, node in models.items()
        for parent in _parents(models, key)
        if _layer(models[parent]) not in MAY_READ[_layer(node)]
        and (_layer(node), models[parent]["name"]) != ("exports", "artifacts")
    }
    assert against == set()


def test_the_way_from_a_raw_file_to_an_export_is_no_longer_than_it_was(models: dict[str, dict[str, Any]]) -> None:
    @cache
    def way(key: str) -> tuple[str, ...]:
        longest = max((way(parent) for parent in _parents(models, key)), key=len, default=())
        return (*longest, models[key]["name"])

    longest = max((way(key) for key in models), key=len)
    assert len(longest) <= DEEPEST, longest


def test_every_model_and_seed_has_a_child_or_an_exposure(
    manifest: dict[str, Any], models: dict[str, dict[str, Any]]
) -> None:
    read = {parent for key in models for parent in _parents(models, key)}
    read |= {key for exposure in manifest["exposures"].values() for key in exposure["depends_on"]["nodes"]}
    assert sorted(node["name"] for key, node in models.items() if key not in read) == []


def test_every_export_has_an_exposure_and_every_exposure_names_its_reader(manifest: dict[str, Any]) -> None:
    exposed = {key for exposure in manifest["exposures"].values() for key in exposure["depends_on"]["nodes"]}
    exports = {key for key, node in manifest["nodes"].items() if node["path"].startswith("exports/")}
    assert exports
    assert exports <= exposed
    for exposure in manifest["exposures"].values():
        assert (REPOSITORY / exposure["meta"]["reader"]).is_file(), exposure["name"]


def test_the_readme_reads_what_its_exposure_says(manifest: dict[str, Any]) -> None:
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    tables = {
        table
        for query in re.findall(r"```sql\n(.*?)```", text, re.DOTALL)
        for table in re.findall(r"\b(?:from|join)\s+\w+\.(\w+)", query)
    }
    exposure = manifest["exposures"]["exposure.assay.readme_questions"]
    assert tables == {key.split(".")[-1] for key in exposure["depends_on"]["nodes"]}


def test_what_a_model_makes_is_read_with_that_model(manifest: dict[str, Any]) -> None:
    """`landed` alone names a source, beside the model that makes it: no comment has to say a dependency."""
    models = [node for node in manifest["nodes"].values() if node["resource_type"] in ("model", "test")]
    for node in models:
        if node["name"] == "builds":
            continue  # hooks make what it reads, no model does
        assert not re.search(r"depends_on:|\bsource\(", node["raw_code"]), node["name"]
    read = {key for node in models for key in node["depends_on"]["nodes"] if key.startswith("source.")}
    assert sorted(set(manifest["sources"]) - read) == []


def test_what_stands_between_is_private_and_marts_have_contracts(manifest: dict[str, Any]) -> None:
    models = [node for node in manifest["nodes"].values() if node["resource_type"] == "model"]
    assert {node["name"] for node in models if node["access"] != "private" and _layer(node) == "intermediate"} == {
        "int_duel_sides",
        "int_generated_lines",
        "int_scoring_lines",
        "int_turns",
        "int_sides_derived",
    }
    for node in models:
        if _layer(node) == "marts":
            assert node["group"], node["name"]
            if node["access"] == "private":
                continue  # what stands between marts is nobody's table but its group's
            assert node["config"]["contract"]["enforced"] == (node["language"] == "sql"), node["name"]


def test_tables_and_views_are_built_as_dbt_duckdb_builds_them(manifest: dict[str, Any]) -> None:
    """A materialization of our own would drop in silence what dbt-duckdb's honours: indexes, grants, sorting."""
    built_by = {macro["package_name"] for macro in manifest["macros"].values() if "materialization_" in macro["name"]}
    assert "dbt_duckdb" in built_by
    assert "assay" not in built_by
