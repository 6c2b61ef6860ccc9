"""One small tree for all tests of the generator."""

from pathlib import Path

import pytest
from sample_tree import OPTIONS, generate


@pytest.fixture(scope="session")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return generate(tmp_path_factory.mktemp("sample") / "tree", *OPTIONS)
