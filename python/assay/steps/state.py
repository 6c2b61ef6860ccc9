"""What earlier runs made: one row an artifact and step, kept as it is made, so that only what changed is made again.

One SQLite file a folder, for all of its steps: a row is there whole or not at all, also after the process was killed.
"""

import contextlib
import hashlib
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

from assay.steps.writing import writing

STATE_FILE = "steps.sqlite"
_FORM = 1
_SCHEMA = f"""
    create table if not exists steps (step text primary key, fingerprint text not null) strict, without rowid;
    create table if not exists made (
        step text not null,
        key text not null,
        stamp text not null,
        sizes text not null,
        result text not null,
        primary key (step, key)
    ) strict, without rowid;
    pragma user_version = {_FORM};
"""
_SECONDS_FOR_ANOTHER_STEP = 60.0


@dataclass(frozen=True)
class Made:
    """What was made of an artifact: under which stamp, the size of its file in each table, and the step's result."""

    stamp: Any
    sizes: dict[str, int]
    result: Any


class State:
    """The rows of one step; `with` opens and closes the file."""

    def __init__(self, folder: Path, step: str, fingerprint: str) -> None:
        """Rows of another fingerprint (code and settings) are forgotten when the file is opened."""
        self._folder, self._step, self._fingerprint = folder, step, fingerprint
        self._file: sqlite3.Connection | None = None

    def __enter__(self) -> "State":
        """Open the file; one that cannot be used, or of another form, is as good as none."""
        with writing(self._folder):
            path = self._folder / STATE_FILE
            try:
                self._file = _opened(path)
            except sqlite3.DatabaseError as error:
                if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
                    raise
                for name in (path, *(path.with_name(path.name + ending) for ending in ("-wal", "-shm"))):
                    name.unlink(missing_ok=True)
                self._file = _opened(path)
            with self._transaction() as file:
                found = file.execute("select fingerprint from steps where step = ?", [self._step]).fetchone()
                if found != (self._fingerprint,):
                    file.execute("delete from made where step = ?", [self._step])
                    file.execute("insert or replace into steps values (?, ?)", [self._step, self._fingerprint])
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    def made(self) -> dict[str, Made]:
        """What is known by key."""
        with self._transaction() as file:
            rows = file.execute("select key, stamp, sizes, result from made where step = ?", [self._step])
            return {key: Made(*map(json.loads, values)) for key, *values in rows}

    def forget(self, keys: Iterable[str]) -> None:
        """Forget what was made, for good: before the files that it vouches for are touched."""
        with self._transaction(is_durable=True) as file:
            file.executemany("delete from made where step = ? and key = ?", [(self._step, key) for key in keys])

    def put(self, key: str, made: Made) -> None:
        """Remember what was made."""
        values = map(json.dumps, (made.stamp, made.sizes, made.result))
        with self._transaction() as file:
            file.execute("insert or replace into made values (?, ?, ?, ?, ?)", [self._step, key, *values])

    @contextlib.contextmanager
    def _transaction(self, is_durable: bool = False) -> Iterator[sqlite3.Connection]:
        """A transaction survives the end of the process; a durable one a power cut too."""
        assert self._file is not None
        with writing(self._folder):
            self._file.execute(f"pragma synchronous = {'full' if is_durable else 'normal'}")
            with self._file:
                yield self._file


def _opened(path: Path) -> sqlite3.Connection:
    file = sqlite3.connect(path, timeout=_SECONDS_FOR_ANOTHER_STEP)
    try:
        file.execute("pragma journal_mode = wal")
        (form,) = file.execute("pragma user_version").fetchone()
        if form not in (0, _FORM) or file.execute("pragma quick_check(1)").fetchone() != ("ok",):
            error = sqlite3.DatabaseError("the file is damaged or of another form")
            error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
            raise error
        file.executescript(_SCHEMA)
    except BaseException:
        file.close()
        raise
    return file


def versions(folder: Path, step: str) -> dict[str, str]:
    """What names the content of the files of each artifact of a step, by key: other code or input, another version.

    Empty where the step left no state; whoever builds on an artifact without a version makes its own anew.
    """
    with contextlib.suppress(sqlite3.Error), contextlib.closing(_read_only(folder)) as file:
        query = "select key, fingerprint, stamp from made inner join steps using (step) where step = ?"
        rows = file.execute(query, [step]).fetchall()
        return {key: digest(fingerprint, stamp) for key, fingerprint, stamp in rows}
    return {}


def results(folder: Path, step: str) -> dict[str, Any]:
    """What a step returned for each artifact, by key."""
    with contextlib.suppress(sqlite3.Error), contextlib.closing(_read_only(folder)) as file:
        rows = file.execute("select key, result from made where step = ?", [step]).fetchall()
        return {key: json.loads(result) for key, result in rows}
    return {}


def forget(folder: Path, step: str, keys: Iterable[str]) -> None:
    """Forget what a step made for these keys, whatever its code was, so that it is made anew."""
    if (folder / STATE_FILE).is_file():
        with writing(folder), contextlib.closing(_opened(folder / STATE_FILE)) as file, file:
            file.executemany("delete from made where step = ? and key = ?", [(step, key) for key in keys])


def _read_only(folder: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{(folder / STATE_FILE).absolute().as_uri()}?mode=ro", timeout=60, uri=True)


def identity(status: os.stat_result) -> list[int]:
    """What tells a file from another one and from itself after a change, without reading it.

    A file of the same size and time that was moved into its place is another inode; one whose time was set back has
    changed since (`ctime`).
    """
    return [status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]


def digest(*texts: str) -> str:
    """A short name for texts, SHA-256 cut to 32 hex digits."""
    hashed = hashlib.sha256()
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        hashed.update(b"%d:" % len(data) + data)
    return hashed.hexdigest()[:32]


def code_fingerprint(*modules: ModuleType) -> str:
    """A hash of the code of modules, all of a package's own: what an older version made is made again."""
    hashed = hashlib.sha256()
    for module in modules:
        folders = getattr(module, "__path__", None)
        files = [Path(str(module.__file__))] if folders is None else []
        for folder in folders or ():
            files += sorted(Path(folder).rglob("*.py"))
        for path in files:
            hashed.update(path.name.encode() + b"\0" + path.read_bytes())
    return hashed.hexdigest()
