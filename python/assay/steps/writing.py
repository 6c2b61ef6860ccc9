"""Files that are whole or not there, and what can go wrong while they are written, as one sentence that says where."""

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from assay.errors import AssayError
from assay.names import shown

_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS})


class writing:  # noqa: N801 - reads as a statement: `with writing(folder)`
    """Turns a fault of a write below `folder` into an `AssayError`; what is read is no business of this block."""

    def __init__(self, folder: Path) -> None:
        """Take the folder that the message names."""
        self.folder = folder

    def __enter__(self) -> None:
        """Nothing to prepare."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Raise the sentence in place of the fault."""
        if not isinstance(error, OSError | pa.ArrowException):
            return
        cause = (isinstance(error, OSError) and error.strerror) or str(error)
        advice = "; free some space, or set ASSAY_DB to a path on another disk"
        raise AssayError(
            f"cannot write below {shown(self.folder)}: {shown(cause)}"
            + (advice if isinstance(error, OSError) and error.errno in _NO_ROOM else "")
        ) from None


@contextlib.contextmanager
def whole(*names: Path) -> Iterator[list[Path]]:
    """Write files that get their names together, when the block ends well; else none of them changes.

    Yields the paths to write to, one a name and beside it. Nothing is left of them when the block raises, whatever it
    raises: a full disk and Ctrl-C are such exceptions.
    """
    parts = [name.with_name(name.name + ".part") for name in names]
    try:
        yield parts
        for part, name in zip(parts, names, strict=True):
            os.replace(part, name)
    finally:
        for part in parts:
            part.unlink(missing_ok=True)
