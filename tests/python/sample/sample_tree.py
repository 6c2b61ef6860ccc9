"""How the tests make a tree."""

import argparse
from pathlib import Path

from assay.sample import command

OPTIONS = ["--runs", "9", "--samples", "4", "--scale", "small", "--seed", "97", "--turns", "12"]


def generate(out: Path, *options: str) -> Path:
    parser = argparse.ArgumentParser()
    command.configure(parser)
    assert command.run(parser.parse_args(["--out", str(out), *options])) == 0
    return out
