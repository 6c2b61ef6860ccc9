"""Whether a build would make anything new: what the last whole one read and wrote, against what is there now."""

import contextlib
import importlib.metadata
import json
import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from assay.landing.artifact import Artifact
from assay.landing.run import STEP, sha256_of
from assay.provenance.code import code_of
from assay.provenance.step import MANIFEST_FILE
from assay.steps.state import digest, forget, identity, results
from assay.tokenizer_folder import named_folder

RECORD_FILE = "last_build.json"
# What these say changes how fast a build is and not what it makes.
_OF_THE_MACHINE = frozenset({"ASSAY_THREADS", "ASSAY_MEMORY"})


def inputs(
    project: Path,
    variables: Mapping[Any, Any],
    environment: Mapping[str, str],
    artifacts: Sequence[Artifact],
    strangers: Sequence[str],
) -> dict[str, Any]:
    """Everything that a build is made of, as hashes: code, tests, rules, vars, versions, tokenizer, raw tree.

    `artifacts` and `strangers` are what the raw root holds. Raises AssayError for a tokenizer that is not there.
    """
    tokenizer = environment.get("ASSAY_TOKENIZER") or str(variables.get("tokenizer") or "")
    others = [*project.glob("*.yml"), *(project / "tests").rglob("*.sql"), Path(shutil.which("bash") or os.devnull)]
    return {
        **asdict(code_of(project)),
        "project_files": _files(others),
        "vars": digest(repr(sorted(variables.items(), key=repr))),
        "environment": {
            name: value
            for name, value in sorted(environment.items())
            if name.startswith(("ASSAY_", "DBT_")) and name not in _OF_THE_MACHINE
        },
        "versions": digest(
            sys.version, *sorted(f"{one.name} {one.version}" for one in importlib.metadata.distributions())
        ),
        "tokenizer": _files(named_folder(tokenizer).iterdir()) if tokenizer else "",
        "raw_tree": digest(*(json.dumps([one.artifact_id, one.stamp]) for one in artifacts), "", *strangers),
    }


def outputs(warehouse: Path, landing: Path, exports: Path) -> dict[str, Any]:
    """What a build left: the warehouse, the landed files and those of the exports' manifest, by what the disk says."""
    manifest = exports / MANIFEST_FILE
    exported: list[str] = []
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        exported = [file["file"] for file in json.loads(manifest.read_bytes())["files"]]
    return {
        "warehouse": _files([warehouse]),
        "landing": _files(landing.rglob("*.parquet")),
        "exports": _files([manifest, *(exports / name for name in exported)]),
    }


def keep(landing: Path, inputs_of_build: Mapping[str, Any], outputs_of_build: Mapping[str, Any]) -> None:
    """Remember a build that ended well; one that cannot be remembered is done again."""
    with contextlib.suppress(OSError):
        (landing / RECORD_FILE).write_text(json.dumps([inputs_of_build, outputs_of_build]), encoding="utf-8")


def is_current(landing: Path, inputs_now: Mapping[str, Any], outputs_now: Mapping[str, Any]) -> bool:
    """Whether the last build read and wrote just this."""
    with contextlib.suppress(OSError, ValueError):
        kept: Any = json.loads((landing / RECORD_FILE).read_bytes())
        return bool(kept == [inputs_now, outputs_now])
    return False


def forget_changed(landing: Path, artifacts: Iterable[Artifact]) -> list[str]:
    """Hash every file of the raw tree again; those that are not what was landed are landed anew. Returns their names.

    Finds what the file system does not say: bytes that changed under the same size and times.
    """
    known = results(landing, STEP)
    changed = [
        one
        for one in artifacts
        if one.key in known and not one.is_link_out and known[one.key]["row"]["sha256"] != sha256_of(one.path)
    ]
    forget(landing, STEP, [one.key for one in changed])
    return [one.artifact_id for one in changed]


def _files(paths: Iterable[Path]) -> str:
    return digest(*sorted(json.dumps([str(path), _identity(path)]) for path in paths))


def _identity(path: Path) -> list[int]:
    try:
        return identity(path.stat())
    except OSError:
        return []
