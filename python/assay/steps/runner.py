"""The one loop of all steps: what is still current stays, the rest is made anew, and every file is accounted for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import pyarrow as pa

from assay.errors import AssayError
from assay.names import shown
from assay.steps.lock import locked
from assay.steps.pool import each
from assay.steps.progress import Progress
from assay.steps.state import Made, State
from assay.steps.tables import Outputs, TableFiles, is_sound, keep_only, prepare


class Task(Protocol):
    """One artifact of a step."""

    @property
    def key(self) -> str:
        """Names the artifact in the state, and its files: 1 to 200 letters and digits."""

    @property
    def name(self) -> str:
        """What a message calls it."""

    @property
    def size(self) -> int:
        """How much work it is, in any unit: the largest go first."""

    @property
    def stamp(self) -> Any:
        """What its result depends on besides the step's fingerprint, as JSON; None: it is always made anew."""


Artifact = TypeVar("Artifact", bound=Task)
Write = Callable[[str, pa.RecordBatch], None]


@dataclass(frozen=True)
class Step(Generic[Artifact]):
    """A function of one artifact, and where what it writes goes.

    `work` takes a task and a function that takes (table, batch); what it returns is kept as JSON. It runs in any
    process, so it is a function of a module. Nothing else is its business: files, state, processes and faults are ours.
    """

    name: str
    folder: Path
    outputs: Outputs
    fingerprint: str
    work: Callable[[Artifact, Write], Any]
    alone_below: int
    """With tasks of less than this size in all, starting a pool takes longer than the work."""


@dataclass(frozen=True)
class Outcome:
    """What is there now: results by key in the order of the tasks, and the keys that were made anew."""

    results: dict[str, Any]
    new: frozenset[str]


def run(
    step: Step[Artifact],
    tasks: Sequence[Artifact],
    workers: int | None = None,
    finish: Callable[[Outcome], None] | None = None,
) -> Outcome:
    """Bring the tables of a step to what its tasks say, in `workers` processes (None: one a core).

    A task with a result under the same stamp, whose files are sound, is not done again. Its row of the state goes
    before its files are touched and comes back when they are whole, so a step that is killed at any moment leaves no
    row that vouches for another file. `finish` is called at the end, while nobody else can be at work in the folder.
    Raises AssayError when a file cannot be read or written, or another process works on the same step.
    """
    with locked(step.folder, step.name), State(step.folder, step.name, step.fingerprint) as state:
        prepare(step.folder, step.outputs)
        known = state.made()
        todo = [task for task in tasks if not _is_current(step, task, known.get(task.key))]
        new = frozenset(task.key for task in todo)
        state.forget([*new, *(known.keys() - {task.key for task in tasks})])
        todo.sort(key=lambda task: (-task.size, task.key))
        alone = sum(task.size for task in todo) < step.alone_below
        with Progress(f"{step.name}, files", len(todo)) as progress:
            for task, made in each(todo, partial(_make, step), workers, alone, lambda task: task.name):
                state.put(task.key, made)
                known[task.key] = made
                progress.add(1)
        files = {_file(step, name, task.key) for task in tasks for name in known[task.key].sizes}
        keep_only(step.folder, step.outputs, files)
        outcome = Outcome({task.key: known[task.key].result for task in tasks}, new)
        if finish:
            finish(outcome)
        return outcome


def _is_current(step: Step[Artifact], task: Artifact, made: Made | None) -> bool:
    return (
        made is not None
        and made.stamp is not None
        and made.stamp == task.stamp
        and all(is_sound(_file(step, name, task.key), size) for name, size in made.sizes.items())
    )


def _file(step: Step[Artifact], table: str, key: str) -> Path:
    return step.folder / table / f"{key}.parquet"


def _make(step: Step[Artifact], task: Artifact) -> Made:
    with TableFiles(step.folder, step.outputs, task.key) as files:
        try:
            result = step.work(task, files.write)
        except (OSError, pa.ArrowException) as error:
            cause = (isinstance(error, OSError) and error.strerror) or str(error).partition("\n")[0]
            raise AssayError(f"{shown(task.name)} cannot be read: {shown(cause)}") from None
    return Made(task.stamp, files.sizes, result)
