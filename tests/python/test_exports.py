"""The files a build leaves below the exports folder, all of them together."""

import hashlib
import json
import shutil
from pathlib import Path

from dbt_project import RunDbt


def _digests(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
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
