"""One process a step and folder: a second one waits a moment, then says who is at work."""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

from assay.errors import AssayError
from assay.names import shown
from assay.steps.writing import writing

# A step whose build was killed ends within a moment; a build that is started again at once need not fail for it.
SECONDS_TO_WAIT = 5.0


@contextlib.contextmanager
def locked(folder: Path, step: str) -> Iterator[None]:
    """Hold the lock of a step on a folder, which is made if need be. Raises AssayError that names who holds it.

    The kernel gives the lock back when the process ends, however it ends.
    """
    path = folder / f"{step}.lock"
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        file = path.open("a+", encoding="utf-8")
    with file:
        until = time.monotonic() + SECONDS_TO_WAIT
        while not _is_taken(file.fileno()):
            if time.monotonic() >= until:
                file.seek(0)
                holder = shown(file.readline(20).strip()) or "unknown"
                raise AssayError(
                    f"process {holder} is at work in {shown(folder)} ({step}): let it end, or end it, and try again"
                )
            time.sleep(0.05)
        with writing(folder):
            file.truncate(0)
            file.write(f"{os.getpid()}\n")
            file.flush()
        yield


def _is_taken(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
