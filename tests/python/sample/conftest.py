"""One small tree for all tests of the generator, and how to make another."""

import argparse
from collections.abc import Callable
from pathlib import Path

import pytest
from assay.sample import command

# What the bundled tree is made with.
OPTIONS = [
    *("--runs", "9", "--samples", "5", "--seed", "97", "--scale", "small"),
    *("--turns", "10", "--trajectories", "4", "--mini-coder", "16"),
]


def _generate(out: Path, *options: str) -> Path:
    parser = argparse.ArgumentParser()
    command.configure(parser)
    assert command.run(parser.parse_args(["--out", str(out), *options])) == 0
    return out


@pytest.fixture(scope="session")
def generate() -> Callable[..., Path]:
    return _generate


@pytest.fixture(scope="session")
def options() -> list[str]:
    return OPTIONS


@pytest.fixture(scope="session")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _generate(tmp_path_factory.mktemp("sample") / "tree", *OPTIONS)
