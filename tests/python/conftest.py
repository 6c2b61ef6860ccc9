import os
import subprocess
import sys
from pathlib import Path

# Before numpy is loaded: threads of two test processes that wait for each other take longer than one that works.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import pytest  # noqa: E402
from dbt_project import REPOSITORY, RunDbt  # noqa: E402


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests that need a build, so that `make check` can leave them out."""
    for item in items:
        if "run_dbt" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.build)


@pytest.fixture(scope="session")
def repository() -> Path:
    return REPOSITORY


@pytest.fixture(scope="session")
def run_dbt(tmp_path_factory: pytest.TempPathFactory) -> RunDbt:
    """Run dbt on the project as a user does, with its own warehouse and a target folder that the session shares."""
    shared = tmp_path_factory.mktemp("dbt")

    def run(
        *words: str, raw_root: Path | None = None, warehouse: Path, **settings: str
    ) -> subprocess.CompletedProcess[str]:
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("ASSAY_")},
            "ASSAY_DB": str(warehouse),
            "ASSAY_EXPORTS": str(warehouse.parent / "exports"),
            "DBT_TARGET_PATH": str(shared / "target"),
            "DBT_LOG_PATH": str(shared / "logs"),
            **settings,
        }
        if raw_root is not None:
            environment["ASSAY_RAW_ROOT"] = str(raw_root)
        return subprocess.run(
            [sys.executable, "-m", "dbt.cli.main", "--no-use-colors", *words],
            cwd=REPOSITORY,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.fixture(scope="session")
def sample_warehouse(run_dbt: RunDbt, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The warehouse of the bundled sample, read and not changed by tests.

    `make test` names the one it has just built in ASSAY_SAMPLE_WAREHOUSE; without it, one is built once a session.
    """
    if built_before := os.environ.get("ASSAY_SAMPLE_WAREHOUSE"):
        return Path(built_before).resolve()
    warehouse = tmp_path_factory.mktemp("sample") / "warehouse.duckdb"
    built = run_dbt("build", warehouse=warehouse)
    assert built.returncode == 0, built.stdout
    return warehouse
