"""A step of the tests: doubles the number in each artifact's file. Its functions run in any process."""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from assay.errors import AssayError
from assay.steps.runner import Outcome, Step, Write, run
from assay.steps.tables import Output, batch_of

DOUBLED = pa.schema([("number", pa.int64())])
ODD = pa.schema([("text", pa.string())])


@dataclass(frozen=True)
class Task:
    """A file that holds one whole number; `stamp` is its text."""

    path: Path
    stamp: Any

    @property
    def key(self) -> str:
        return self.path.stem

    @property
    def name(self) -> str:
        return str(self.path)

    @property
    def size(self) -> int:
        return 1


def double(task: Task, write: Write) -> int:
    """Writes the double, and a row of another table for an odd number; returns the number."""
    number = int(task.path.read_text())
    write("doubled", batch_of(DOUBLED, [(2 * number,)]))
    if number % 2:
        write("odd", batch_of(ODD, [(f"{number} is odd",)]))
    if number == 13:
        raise AssayError("thirteen is refused")
    return number


def bring(inputs: Path, folder: Path, workers: int | None = 1, fingerprint: str = "1") -> Outcome:
    """Run the step on the files of `inputs`."""
    outputs = {"doubled": Output(DOUBLED), "odd": Output(ODD)}
    tasks = [Task(path, path.read_text()) for path in sorted(inputs.iterdir())]
    return run(Step("doubling", folder, outputs, fingerprint, double, 1), tasks, workers)


def fail(sentence: str) -> None:
    """Refuses with a sentence."""
    raise AssayError(sentence)


def echo(*values: Any) -> tuple[Any, ...]:
    """Returns what it is given, and prints, which is nobody's answer."""
    print("words", "of", "a", "library")
    return values


def die(code: int) -> None:
    """Ends without an answer: killed (negative), else with a code."""
    if code < 0:
        os.kill(os.getpid(), -code)
    os._exit(code)


def break_down() -> None:
    """A fault of the program itself."""
    raise RuntimeError("a bug\x1b[2J")


def wait_for_ever(sign: Path) -> None:
    """Leaves its process id, then does nothing."""
    sign.write_text(str(os.getpid()))
    time.sleep(600)
