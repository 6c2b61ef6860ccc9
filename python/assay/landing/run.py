"""Landing a whole raw tree: what is there, what changed since last time, and the work in parallel."""

import contextlib
import os
import stat
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import assay.landing
from assay.errors import AssayError
from assay.landing.artifact import Artifact, land
from assay.landing.sources import SOURCES
from assay.landing.tables import ARTIFACTS, QUARANTINE, STRANGERS, TABLES
from assay.names import printable, shown
from assay.steps.pool import each
from assay.steps.state import State, code_fingerprint
from assay.steps.writing import writing

STATE_FILE = "state.json"
EMPTY_FILE = "empty.parquet"
SUMMARY_FILE = "all.parquet"
_SCHEMAS = {**{name: table.schema for name, table in TABLES.items()}, "quarantine": QUARANTINE}
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


def land_tree(
    raw_root: Path,
    folder: Path,
    workers: int | None = None,
    max_line_megabytes: int = 256,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Bring `folder` to what `raw_root` holds now and return the report.

    A file whose size and modification time are those of the last run is not read again. `folder` gets one
    sub-folder a landed table and `quarantine/`, each holding one parquet file an artifact with rows there and an
    empty one that carries the schema, and `artifacts/` and `strangers/` with one file each. Raises `AssayError` for
    a root that is not a folder, a file that cannot be read, a folder that cannot be written to, a full disk.
    """
    started = time.monotonic()
    if max_line_megabytes < 1:
        raise AssayError(f"max_line_megabytes is {max_line_megabytes}: set it to 1 or more")
    if workers is not None and workers < 1:
        raise AssayError(f"the number of workers is {workers}: set it to 1 or more")
    if printable(folder) != str(folder):
        raise AssayError(f"the folder {shown(folder)} has a name that is not UTF-8: name another to land in")
    artifacts, strangers = find_artifacts(raw_root)
    _prepare(folder)
    fingerprint = f"{code_fingerprint(assay.landing)} {max_line_megabytes} {printable(raw_root.resolve())}"
    state = State.load(folder / STATE_FILE, fingerprint)
    todo = [artifact for artifact in artifacts if not _is_current(artifact, state)]
    todo.sort(key=lambda artifact: (-artifact.size, artifact.artifact_id))
    try:
        work = partial(_land_one, folder, max_line_megabytes << 20)
        alone = sum(artifact.size for artifact in todo) < _ALONE_BYTES
        landing = each(todo, work, workers, alone, lambda artifact: artifact.artifact_id)
        for done, (artifact, landed) in enumerate(landing, 1):
            state.put(artifact.artifact_id, _stamp(artifact), landed)
            if progress:
                progress(done, len(todo))
    finally:
        with writing(folder):
            state.keep_only(artifact.artifact_id for artifact in artifacts)
            state.save()
    results = [state.results[artifact.artifact_id] for artifact in artifacts]
    rows = [result["row"] for result in results]
    reasons: Counter[str] = Counter()
    for result in results:
        reasons.update(result["reasons"])
    with writing(folder):
        _remove_stale(folder, artifacts, state)
        _write_table(folder / "artifacts" / SUMMARY_FILE, pa.Table.from_pylist(rows, schema=ARTIFACTS))
        _write_table(folder / "strangers" / SUMMARY_FILE, pa.table([strangers], schema=STRANGERS))
    bytes_read = sum(artifact.size for artifact in todo)
    return Report(rows, dict(sorted(reasons.items())), strangers, len(todo), bytes_read, time.monotonic() - started)


def find_artifacts(raw_root: Path) -> tuple[list[Artifact], list[str]]:
    """List the regular files of the known source folders in path order, and the root's other entries by name."""
    try:
        entries = sorted(os.listdir(raw_root))
    except FileNotFoundError:
        raise AssayError(f"the raw root {shown(raw_root)} does not exist: name a folder (ASSAY_RAW_ROOT)") from None
    except NotADirectoryError:
        raise AssayError(f"the raw root {shown(raw_root)} is not a folder: name one (ASSAY_RAW_ROOT)") from None
    except OSError as error:
        raise AssayError(f"the raw root {shown(raw_root)} cannot be listed: {error.strerror}") from None
    artifacts: list[Artifact] = []
    for source in SOURCES:
        if source in entries:
            artifacts += _source_artifacts(raw_root, source)
    strangers = [printable(entry) for entry in entries if entry not in SOURCES]
    artifacts.sort(key=lambda artifact: artifact.artifact_id)
    for one, other in pairwise(artifacts):
        if one.artifact_id == other.artifact_id:
            raise AssayError(
                f"two files below the raw root have a name that is not UTF-8 and reads {shown(one.artifact_id)}: "
                "rename one"
            )
    return artifacts, strangers


def _source_artifacts(raw_root: Path, source: str) -> Iterator[Artifact]:
    for path in _files(raw_root / source):
        status = _stat(path)
        if not stat.S_ISREG(status.st_mode):
            raise AssayError(f"{shown(path)} is not a regular file: take it out of the raw root")
        parts = path.relative_to(raw_root).parts
        found = SOURCES[source](parts[1:]) if len(parts) > 1 else None
        kind, facts = found or (None, {})
        yield Artifact(
            artifact_id=printable("/".join(parts)),
            path=path,
            source=source,
            kind=kind,
            facts={key: printable(value) for key, value in facts.items()},
            size=status.st_size,
            mtime_ns=status.st_mtime_ns,
        )


def _files(folder: Path) -> Iterator[Path]:
    """Walk a folder, through links too (people link data in), but never twice into the same folder of a path."""
    visits: Counter[tuple[int, int]] = Counter()
    todo: list[tuple[Path, frozenset[tuple[int, int]]]] = [(folder, frozenset())]
    while todo:
        path, above = todo.pop()
        status = _stat(path)
        if not stat.S_ISDIR(status.st_mode):
            yield path
            continue
        identity = (status.st_dev, status.st_ino)
        if identity in above:
            continue
        visits[identity] += 1
        if visits[identity] > _MAX_VISITS:
            raise AssayError(f"links lead more than {_MAX_VISITS} times to the folder {shown(path)}: take some out")
        try:
            names = sorted(os.listdir(path), reverse=True)
        except OSError as error:
            raise AssayError(f"the folder {shown(path)} cannot be listed: {error.strerror}") from None
        todo += [(path / name, above | {identity}) for name in names]


def _stat(path: Path) -> os.stat_result:
    try:
        return path.stat()
    except OSError as error:
        raise AssayError(f"{shown(path)} cannot be read: {error.strerror}") from None


def _land_one(folder: Path, max_line_bytes: int, artifact: Artifact) -> dict[str, Any]:
    try:
        landed = land(artifact, folder, max_line_bytes)
    except OSError as error:
        raise AssayError(f"{shown(artifact.path)} cannot be read: {error.strerror or error}") from None
    return {"row": landed.row, "tables": landed.tables, "reasons": landed.reasons}


def _is_current(artifact: Artifact, state: State) -> bool:
    result = state.result(artifact.artifact_id, _stamp(artifact))
    return result is not None and all(
        _table_file(state.path.parent, table, artifact).exists() for table in result["tables"]
    )


def _stamp(artifact: Artifact) -> list[Any]:
    return [artifact.size, artifact.mtime_ns, artifact.kind.name if artifact.kind else None]


def _table_file(folder: Path, table: str, artifact: Artifact) -> Path:
    return folder / table / f"{artifact.file_stem}.parquet"


def _prepare(folder: Path) -> None:
    with writing(folder):
        for name in ("artifacts", "strangers"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        for name, schema in _SCHEMAS.items():
            (folder / name).mkdir(exist_ok=True)
            path = folder / name / EMPTY_FILE
            if not _has_schema(path, schema):
                _write_table(path, schema.empty_table())


def _has_schema(path: Path, schema: pa.Schema) -> bool:
    with contextlib.suppress(FileNotFoundError, pa.ArrowException):
        return bool(pq.read_schema(path) == schema)
    return False


def _remove_stale(folder: Path, artifacts: list[Artifact], state: State) -> None:
    """Remove what no artifact of the tree stands behind any more; only files of our own naming are touched."""
    current = {
        _table_file(folder, table, artifact)
        for artifact in artifacts
        for table in state.results[artifact.artifact_id]["tables"]
    }
    for name in _SCHEMAS:
        for path in (folder / name).iterdir():
            if path.suffix in (".parquet", ".part") and path.name != EMPTY_FILE and path not in current:
                path.unlink()


def _write_table(path: Path, table: pa.Table) -> None:
    part = path.with_suffix(".part")
    pq.write_table(table, part)
    os.replace(part, path)


def print_progress(done: int, total: int) -> None:
    """One line on the terminal, rewritten in place; nothing where there is no terminal."""
    if sys.stderr.isatty():
        end = "\n" if done == total else ""
        print(f"\rlanding: {done} of {total} files", end=end, file=sys.stderr, flush=True)
