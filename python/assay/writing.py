"""What can go wrong while files are written, as one sentence that says where."""

import errno
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
