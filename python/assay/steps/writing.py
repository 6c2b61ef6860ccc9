"""Files that are whole or not there, and what can go wrong while they are written, as one sentence that says where."""

import contextlib
import errno
import os
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path

import duckdb
import pyarrow as pa

from assay.errors import AssayError
from assay.names import shown

_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS})
_PART = ".part"


class writing:  # noqa: N801 - reads as a statement: `with writing(folder)`
    """Turns a fault of a write below `folder` into an `AssayError`; what is read is no business of this block."""

    def __init__(self, folder: Path) -> None:
        """Take the folder that the message names."""
        self.folder = folder

    def __enter__(self) -> None:
        """Nothing to prepare."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Raise the sentence in place of the fault."""
        if not isinstance(error, OSError | pa.ArrowException | sqlite3.Error | duckdb.IOException):
            return
        cause = (isinstance(error, OSError) and error.strerror) or str(error).partition("\n")[0]
        is_full = isinstance(error, OSError) and error.errno in _NO_ROOM
        is_full = is_full or getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
        advice = "; free some space, or name a folder on another disk" if is_full else ""
        raise AssayError(f"cannot write below {shown(self.folder)}: {shown(cause)}{advice}") from None


def part_of(name: Path) -> Path:
    """Where a file is written before it has its name: beside it, so that a rename is all it takes."""
    return name.with_name(name.name + _PART)


def put_in_place(part: Path, name: Path, waits: bool = True) -> None:
    """Give the part of a file its name once its bytes are on the disk: a power cut leaves the old file or the new.

    Without `waits` it may leave half of one, which whoever reads it must then be able to tell.
    """
    if waits:
        with part.open("rb") as file:
            os.fsync(file.fileno())
    os.replace(part, name)


@contextlib.contextmanager
def whole(*names: Path) -> Iterator[list[Path]]:
    """Write files that get their names together, when the block ends well; else none of them changes.

    Yields the paths to write to, one a name. Nothing is left of them when the block raises, whatever it raises: a full
    disk and Ctrl-C are such exceptions.
    """
    parts = [part_of(name) for name in names]
    try:
        yield parts
        for part, name in zip(parts, names, strict=True):
            put_in_place(part, name)
    finally:
        sweep(parts)


def sweep(parts: Iterable[Path]) -> None:
    """Remove parts, those of a process that was killed too; what cannot be removed is left."""
    for part in parts:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


def parts_in(folder: Path) -> list[Path]:
    """The parts that lie in a folder."""
    return sorted(path for path in folder.iterdir() if path.suffix == _PART)
