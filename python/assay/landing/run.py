"""Landing a whole raw tree: what is there, and what of it is new since last time."""

import hashlib
import os
import stat
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa

import assay.landing
from assay.errors import AssayError
from assay.landing.artifact import LINK_OUT, Artifact, land
from assay.landing.rows import LONG_TEXT, QUARANTINE_TABLE
from assay.landing.sources import SOURCES
from assay.landing.tables import ARTIFACTS, QUARANTINE, STRANGERS, TABLES
from assay.names import printable, shown
from assay.steps.runner import Outcome, Step, Write, run
from assay.steps.state import code_fingerprint, identity
from assay.steps.tables import SUMMARY_FILE, Output, write_table
from assay.steps.writing import writing

STEP = "landing"
OUTPUTS = {
    **{name: Output(table.schema, LONG_TEXT) for name, table in TABLES.items()},
    QUARANTINE_TABLE: Output(QUARANTINE),
}
SUMMARIES = ("artifacts", "strangers")
# How often one folder may be reached through links: enough for any use, far below what nested links can ask for.
_MAX_VISITS = 100
# Below this a pool of processes takes longer to start than the work takes.
_ALONE_BYTES = 8 << 20


@dataclass(frozen=True)
class Report:
    """What a landing run found and did: rows of `artifacts`, quarantined lines a reason; bytes and seconds."""

    artifacts: list[dict[str, Any]]
    reasons: dict[str, int]
    strangers: list[str]
    n_read: int
    bytes_read: int
    seconds: float

    @property
    def links_out(self) -> list[str]:
        """Links that lead out of the raw root and were not followed."""
        return [row["artifact_id"] for row in self.artifacts if row["status"] == LINK_OUT]


def land_tree(
    raw_root: Path,
    folder: Path,
    workers: int | None = None,
    max_line_megabytes: int = 256,
    follow_links_out: bool = False,
) -> Report:
    """Bring `folder` to what `raw_root` holds now and return the report.

    A file that is the same as in the last run (`identity`; what a decision rests on, by its hash) is not read again.
    `folder` gets one sub-folder a landed table and `quarantine/`, each holding one parquet file an artifact with rows
    there and an empty one that carries the schema, and `artifacts/` and `strangers/` with one file each. Links that
    lead out of the raw root are listed and not read, unless `follow_links_out`. Raises `AssayError` for a root that is
    not a folder, a file that cannot be read, a folder that cannot be written to, a full disk.
    """
    started = time.monotonic()
    if max_line_megabytes < 1:
        raise AssayError(f"max_line_megabytes is {max_line_megabytes}: set it to 1 or more")
    if workers is not None and workers < 1:
        raise AssayError(f"the number of workers is {workers}: set it to 1 or more")
    if printable(folder) != str(folder):
        raise AssayError(f"the folder {shown(folder)} has a name that is not UTF-8: name another to land in")
    artifacts, strangers = find_artifacts(raw_root, follow_links_out)
    reasons: Counter[str] = Counter()
    rows: list[dict[str, Any]] = []

    def finish(outcome: Outcome) -> None:
        for result in outcome.results.values():
            rows.append(result["row"])
            reasons.update(result["reasons"])
        tables = (pa.Table.from_pylist(rows, schema=ARTIFACTS), pa.table([strangers], schema=STRANGERS))
        with writing(folder):
            for name, table in zip(SUMMARIES, tables, strict=True):
                (folder / name).mkdir(exist_ok=True)
                write_table(folder / name / SUMMARY_FILE, table)

    step = Step(
        name=STEP,
        folder=folder,
        outputs=OUTPUTS,
        fingerprint=f"{code_fingerprint(assay.landing)} {max_line_megabytes}",
        work=partial(_land, raw_root, max_line_megabytes << 20),
        alone_below=_ALONE_BYTES,
    )
    outcome = run(step, artifacts, workers, finish)
    bytes_read = sum(artifact.size for artifact in artifacts if artifact.key in outcome.new)
    seconds = time.monotonic() - started
    return Report(rows, dict(sorted(reasons.items())), strangers, len(outcome.new), bytes_read, seconds)


def _land(raw_root: Path, max_line_bytes: int, artifact: Artifact, write: Write) -> dict[str, Any]:
    landed = land(artifact, write, max_line_bytes)
    # The name as the file system has it, for those who open the file later: the artifact's is made to be shown.
    path = str(artifact.path.relative_to(raw_root))
    return {"row": landed.row, "reasons": landed.reasons, "path": path}


def find_artifacts(raw_root: Path, follow_links_out: bool = False) -> tuple[list[Artifact], list[str]]:
    """List the regular files of the known source folders in path order, and the root's other entries by name."""
    try:
        entries = sorted(os.listdir(raw_root))
    except FileNotFoundError:
        raise AssayError(f"the raw root {shown(raw_root)} does not exist: name a folder (ASSAY_RAW_ROOT)") from None
    except NotADirectoryError:
        raise AssayError(f"the raw root {shown(raw_root)} is not a folder: name one (ASSAY_RAW_ROOT)") from None
    except OSError as error:
        raise AssayError(f"the raw root {shown(raw_root)} cannot be listed: {error.strerror}") from None
    within = None if follow_links_out else os.path.realpath(raw_root)
    artifacts: list[Artifact] = []
    for source in SOURCES:
        if source in entries:
            artifacts += _source_artifacts(raw_root, source, within)
    # What begins with a dot is kept there by tools, such as the record of a harvest.
    strangers = [printable(entry) for entry in entries if entry not in SOURCES and not entry.startswith(".")]
    artifacts.sort(key=lambda artifact: artifact.artifact_id)
    for one, other in pairwise(artifacts):
        if one.artifact_id == other.artifact_id:
            raise AssayError(
                f"two files below the raw root have a name that is not UTF-8 and reads {shown(one.artifact_id)}: "
                "rename one"
            )
    return artifacts, strangers


def _source_artifacts(raw_root: Path, source: str, within: str | None) -> Iterator[Artifact]:
    for path, status in _files(raw_root / source, within):
        is_link_out = stat.S_ISLNK(status.st_mode)
        if not is_link_out and not stat.S_ISREG(status.st_mode):
            raise AssayError(f"{shown(path)} is not a regular file: take it out of the raw root")
        parts = path.relative_to(raw_root).parts
        found = SOURCES[source](parts[1:]) if len(parts) > 1 and not is_link_out else None
        kind, facts = found or (None, {})
        stamp: list[Any] = [is_link_out, kind.name if kind else None, *identity(status)]
        if kind is not None and kind.reader == "safetensors":
            # A decision on a checkpoint names it by its hash, whatever the file system says of it.
            stamp.append(sha256_of(path))
        yield Artifact(
            artifact_id=printable("/".join(parts)),
            path=path,
            source=source,
            kind=kind,
            facts={key: printable(value) for key, value in facts.items()},
            size=status.st_size,
            mtime_ns=status.st_mtime_ns,
            stamp=stamp,
            is_link_out=is_link_out,
        )


def _files(folder: Path, within: str | None) -> Iterator[tuple[Path, os.stat_result]]:
    """Walk a folder, through links too (people link data in), but never twice into the same folder of a path.

    A link that leads out of the folder `within` is not followed: it comes with its own status. None: all are followed.
    """
    visits: Counter[tuple[int, int]] = Counter()
    todo: list[tuple[Path, frozenset[tuple[int, int]]]] = [(folder, frozenset())]
    while todo:
        path, above = todo.pop()
        if within is not None and path.is_symlink() and not _is_within(path, within):
            yield path, path.lstat()
            continue
        status = _stat(path)
        if not stat.S_ISDIR(status.st_mode):
            yield path, status
            continue
        identity_of_folder = (status.st_dev, status.st_ino)
        if identity_of_folder in above:
            continue
        visits[identity_of_folder] += 1
        if visits[identity_of_folder] > _MAX_VISITS:
            raise AssayError(f"links lead more than {_MAX_VISITS} times to the folder {shown(path)}: take some out")
        try:
            names = sorted(os.listdir(path), reverse=True)
        except OSError as error:
            raise AssayError(f"the folder {shown(path)} cannot be listed: {error.strerror}") from None
        todo += [(path / name, above | {identity_of_folder}) for name in names]


def _is_within(link: Path, folder: str) -> bool:
    target = os.path.realpath(link)
    return target == folder or target.startswith(folder.rstrip("/") + "/")


def _stat(path: Path) -> os.stat_result:
    try:
        return path.stat()
    except OSError as error:
        raise AssayError(f"{shown(path)} cannot be read: {error.strerror}") from None


def sha256_of(path: Path) -> str:
    """Hex digest of a file of the raw tree; raises AssayError where it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise AssayError(f"{shown(path)} cannot be read: {error.strerror or error}") from None
