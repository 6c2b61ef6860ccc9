"""Time a command and the memory of it and its children together."""

import contextlib
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

Result = TypeVar("Result")

_SAMPLE_SECONDS = 0.05
# Walking the pages of large processes takes long, and holds them up: looking may take this share of the time.
_WATCHING_SHARE = 0.02


@dataclass(frozen=True)
class Measurement:
    """Wall seconds, and the largest sum of proportional set sizes of the process tree, in MiB."""

    seconds: float
    peak_mebibytes: float
    output: str


def measure(command: list[str], environment: dict[str, str] | None = None) -> Measurement:
    """Run a command to its end; raises `CalledProcessError` when it fails. Memory is read from /proc (Linux)."""
    peak = 0.0
    started = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
    done = threading.Event()

    def watch() -> None:
        nonlocal peak
        pause = _SAMPLE_SECONDS
        while not done.wait(pause):
            looked = time.monotonic()
            peak = max(peak, sum(_kibibytes(identity) for identity in _tree(process.pid)) / 1024)
            pause = max(_SAMPLE_SECONDS, (time.monotonic() - looked) / _WATCHING_SHARE)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    output, _ = process.communicate()
    seconds = time.monotonic() - started
    done.set()
    watcher.join()
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command, output)
    return Measurement(seconds, peak, output)


_CALL = """
import pickle, sys
with open(sys.argv[1], "rb") as asked:
    function, arguments = pickle.load(asked)
answer = function(*arguments)
with open(sys.argv[1], "wb") as answered:
    pickle.dump(answer, answered)
"""


def measure_call(function: Callable[..., Result], *arguments: Any) -> tuple[Measurement, Result]:
    """Call a function of a module as a build's steps do, in a process of its own with one thread of matrix library."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(pickle.dumps((function, arguments)))
        file.flush()
        one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        measured = measure([sys.executable, "-c", _CALL, file.name], {**os.environ, **one_thread})
        answer: Result = pickle.loads(Path(file.name).read_bytes())
        return measured, answer


def _tree(root: int) -> list[int]:
    identities = [root]
    for identity in identities:
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{identity}/task").iterdir():
                identities += map(int, (task / "children").read_text().split())
    return identities


def _kibibytes(identity: int) -> int:
    """Proportional set size: pages that several processes share are counted once in the sum."""
    with contextlib.suppress(OSError, ValueError):
        for line in Path(f"/proc/{identity}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1])
    return 0
