"""A copied run is named and counts for nothing: beside the run, inside it, renamed, in part, changed, twice."""

import gzip
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from credit.warehouses import RunDbt, rows

COMPARED = ("credit.turns", "credit.sides", "credit.duels", "credit.answers")


def _change_scores(path: Path) -> None:
    first, *others = path.read_text(encoding="utf-8").splitlines(keepends=True)
    changed = json.dumps({**json.loads(first), "king_score": 0.125, "challenger_score": 0.875}) + "\n"
    path.write_text(changed + "".join(others), encoding="utf-8")


@pytest.fixture(scope="module")
def copied(run_dbt: RunDbt, repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """The sample's runs with copies of every sort among them, and what the build says."""
    folder = tmp_path_factory.mktemp("copied")
    raw = folder / "raw"
    shutil.copytree(repository / "tests" / "fixtures" / "raw" / "sn97", raw / "sn97")
    runs = raw / "sn97" / "runs"
    first, second, third, fourth, fifth, sixth, *_ = sorted(path.name for path in runs.iterdir())
    shutil.copytree(runs / first, runs / "backup")
    shutil.copytree(runs / first, runs / "backup of backup")
    shutil.copytree(runs / second, runs / second / "inside")
    shutil.copytree(runs / third, runs / "00000000-0000-4000-8000-00000000000a")
    shutil.copytree(runs / fourth, runs / "0 changed")
    _change_scores(runs / "0 changed" / "scoring-results.jsonl")
    for name in ("0 in part", "00000000-0000-4000-8000-00000000000b"):
        (runs / name).mkdir()
        shutil.copy(runs / fifth / "scoring-results.jsonl", runs / name)
    packed = gzip.compress((runs / sixth / "scoring-results.jsonl").read_bytes())
    (runs / sixth / "scoring-results.jsonl.gz").write_bytes(packed)
    warehouse = folder / "warehouse.duckdb"
    selected = ("+turns", "+duels", "sides", "answers", "run_files", "duplicate_lines", "every_file_of_a_run_counts")
    finished = run_dbt(
        "build", "--select", *selected, "every_line_is_a_side_or_listed", "--exclude", "test_type:generic",
        "resource_type:unit_test", raw_root=raw, warehouse=warehouse,
    )  # fmt: skip
    assert finished.returncode == 0, finished.stdout[-4000:]
    yield warehouse, finished.stdout


def test_no_turn_side_or_answer_comes_twice_or_changes(copied: tuple[Path, str], sample_warehouse: Path) -> None:
    for table in COMPARED:
        query = f"select * from {table} order by all"
        assert rows(copied[0], query) == rows(sample_warehouse, query), table
    assert len(rows(copied[0], "select 1 from credit.turns")) == 698


def test_every_copy_is_named_with_its_reason(copied: tuple[Path, str]) -> None:
    warehouse, printed = copied
    found = rows(
        warehouse,
        "select split_part(artifact_id, 'sn97/runs/', 2) as file, copy_of is not null as is_copy, reason "
        "from credit.run_files where not is_counted",
    )
    folders = {row["file"].rpartition("/")[0] for row in found}
    assert {folder for folder in folders if len(folder) != 36} == {
        "0 changed", "0 in part", "backup", "backup of backup",
        *(folder for folder in folders if folder.endswith("/inside")),
    }  # fmt: skip
    assert len(folders) == 8
    assert all(row["reason"] for row in found)
    changed = [row["file"] for row in found if not row["is_copy"]]
    assert changed == ["0 changed/scoring-results.jsonl"]
    assert f"WARN {len(found)} every_file_of_a_run_counts" in printed
    assert 'Not counted: "sn97/runs/backup": "the run counts by the folder sn97/runs/' in printed


def test_every_line_of_a_copy_is_listed(copied: tuple[Path, str]) -> None:
    lines = rows(
        copied[0],
        "select sum(n_rows) as n from staging.artifacts inner join credit.run_files using (artifact_id) "
        "where not is_counted and run_files.kind in ('generated_samples', 'scoring_results')",
    )
    assert rows(copied[0], "select count(*) as n from credit.duplicate_lines where nth_line_of_id is null") == lines
