import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from credit.warehouses import SHARED, RunDbt, build


@pytest.fixture(scope="session")
def published(run_dbt: RunDbt, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The warehouse of the published-layout runs that lie beside the repository, where they do.

    One file of tests reads it: another one may run in another process, which would build it again.
    """
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
    yield build(run_dbt, folder, folder / "raw", data_tests=False)
