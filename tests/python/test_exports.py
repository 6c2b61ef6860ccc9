"""The files a build leaves below the exports folder, all of them together."""

import hashlib
import json
import shutil
from datetime import datetime
from pathlib import Path

import duckdb
from assay.provenance.code import code_of
from dbt_project import REPOSITORY, RunDbt

# What differs from build to build stands in this file alone.
BUILD = "BUILD.json"


def _digests(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.relative_to(folder).as_posix() != BUILD
    }


def test_every_export_has_the_same_bytes_on_one_thread_and_on_two_and_stands_in_the_manifest(
    run_dbt: RunDbt, sample_warehouse: Path, tmp_path: Path
) -> None:
    found = []
    for threads in ("1", "2"):
        warehouse = tmp_path / threads / "warehouse.duckdb"
        shutil.copytree(f"{sample_warehouse}.landing", f"{warehouse}.landing")
        shutil.copyfile(sample_warehouse, warehouse)
        built = run_dbt("run", "--select", "path:models/exports", warehouse=warehouse, ASSAY_THREADS=threads)
        assert built.returncode == 0, built.stdout
        found.append(_digests(warehouse.parent / "exports"))
    assert found[0] == found[1]
    manifest = json.loads((tmp_path / "1" / "exports" / "MANIFEST.json").read_text(encoding="utf-8"))
    listed = {entry["file"]: entry["sha256"] for entry in manifest["files"]}
    assert {name: digest for name, digest in found[0].items() if name != "MANIFEST.json"} == listed
    folders = {name.partition("/")[0] for name in listed}
    assert folders == {"mixes", "promotion", "teacher"}

    build = json.loads((tmp_path / "1" / "exports" / BUILD).read_text(encoding="utf-8"))
    assert {name: build[name] for name in manifest["build"]} == manifest["build"]
    assert build["manifest_sha256"] == found[0]["MANIFEST.json"]
    assert (build["state"], build["n_built"], build["n_failed"], build["n_skipped"]) == ("partial", 4, 0, 0)
    assert build["raw_root"] == "tests/fixtures/raw"
    assert datetime.fromisoformat(build["started_at"]) < datetime.fromisoformat(build["finished_at"])
    with duckdb.connect(str(tmp_path / "1" / "warehouse.duckdb"), read_only=True) as connection:
        recorded = connection.sql("from builds.builds").order("finished_at").to_arrow_table().to_pylist()
        (n_files,) = connection.sql("select count(*) from staging.artifacts").fetchall()[0]
    assert recorded[-1]["build_id"] == build["build_id"]
    assert recorded[-1]["n_files"] == build["n_files"] == n_files
    whole = recorded[-2]
    assert (whole["state"], whole["n_built"], whole["manifest_sha256"]) == (
        "complete", whole["n_models"], found[0]["MANIFEST.json"],
    )  # fmt: skip
    assert {name: whole[name] for name in manifest["build"]} == manifest["build"]


def test_a_build_is_known_by_its_code_and_its_seeds(tmp_path: Path) -> None:
    for folder in ("models", "macros", "seeds"):
        shutil.copytree(REPOSITORY / folder, tmp_path / folder)
    shutil.copy(REPOSITORY / "dbt_project.yml", tmp_path)
    here, there = code_of(REPOSITORY), code_of(tmp_path)
    assert here == there
    seed = tmp_path / "seeds" / "mix_plan.csv"
    seed.write_text(seed.read_text().replace("credit", "kredit"))
    changed = code_of(tmp_path)
    assert (changed.code_sha256, changed.seeds_sha256 == here.seeds_sha256) == (here.code_sha256, False)
    model = tmp_path / "models" / "marts" / "credit" / "duels.sql"
    model.rename(model.with_name("duel.sql"))
    assert code_of(tmp_path).code_sha256 != here.code_sha256
