"""Which code and which rules make a build: hashes of what lies in the project's folders and in this package."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import assay


@dataclass(frozen=True)
class Code:
    """What a build is made by. Hashes are SHA-256 (hex) over name and bytes of every file, in order of names."""

    assay_version: str
    code_sha256: str
    """Models, macros and dbt_project.yml of the project, and this package."""
    seeds_sha256: str
    """The rules: tables of the folder `seeds`."""


def code_of(project: Path) -> Code:
    """The code that builds a project, which is the folder of its dbt_project.yml."""
    package = Path(assay.__file__).parent
    code = [project / "dbt_project.yml", *_files(project / "models"), *_files(project / "macros")]
    return Code(
        assay.__version__,
        _sha256([*_named(project, code), *_named(package.parent, package.rglob("*.py"))]),
        _sha256(_named(project, (project / "seeds").glob("*.csv"))),
    )


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.suffix in (".sql", ".py", ".yml", ".md"))


def _named(root: Path, paths: Iterable[Path]) -> list[tuple[str, Path]]:
    return [(path.relative_to(root).as_posix(), path) for path in paths]


def _sha256(files: list[tuple[str, Path]]) -> str:
    digest = hashlib.sha256()
    for name, path in sorted(files):
        digest.update(f"{name}\t{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()
