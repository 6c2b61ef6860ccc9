"""Episodes of every checkpoint under every condition, sampled where something is new, in a pool of processes."""

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import scaffold
from assay.errors import AssayError
from assay.promotion import conditions as conditions_module
from assay.promotion import sampling as sampling_module
from assay.promotion.conditions import Condition, Context, conditions
from assay.promotion.sampling import EPISODES, sample
from assay.steps.pool import each
from assay.steps.state import State, code_fingerprint
from assay.steps.writing import writing
from scaffold.model_np import SAMPLER_VERSION, CheckpointError, load

FOLDER = "policy_episodes"
STATE_FILE = "policy_episodes.json"
EMPTY_FILE = "empty.parquet"

SAMPLED = pa.schema(
    [
        ("fixture", pa.string()),
        ("checkpoint", pa.string()),
        ("artifact_id", pa.string()),
        ("checkpoint_sha256", pa.string()),
        ("experiment", pa.string()),
        ("condition", pa.string()),
        ("n", pa.int64()),
        ("seed", pa.int64()),
        ("sampler_version", pa.string()),
        ("status", pa.string()),
        ("reason", pa.string()),
    ]
)
"""One row a checkpoint and condition; `status` is `sampled`, or `unknown` with the reason."""


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint file: its place below the raw root, its fixture, its name there, its hash and training step."""

    artifact_id: str
    fixture: str
    checkpoint: str
    sha256: str
    step: int | None


@dataclass(frozen=True)
class _Task:
    """What of one file's content is still to be sampled; files of the same content share it."""

    path: Path
    name: str
    sha256: str
    conditions: tuple[tuple[str, Condition], ...]
    folder: Path


def sample_tree(
    raw_root: Path,
    landing: Path,
    checkpoints: Sequence[Checkpoint],
    contexts: Sequence[tuple[Context, int, int]],
    workers: int | None = None,
) -> tuple[pa.Table, int]:
    """Bring `landing/policy_episodes` to what checkpoints and contexts say.

    Returns the table of `SAMPLED` and how many conditions were sampled anew. One parquet file for a (checkpoint
    content, condition); a checkpoint that cannot be sampled has none, and its reason in the table.
    """
    folder = landing / FOLDER
    with writing(landing):
        folder.mkdir(parents=True, exist_ok=True)
        pq.write_table(EPISODES.empty_table(), folder / EMPTY_FILE)
    fingerprint = f"{SAMPLER_VERSION} {np.__version__} {_code_fingerprint()}"
    state = State.load(landing / STATE_FILE, fingerprint)
    wanted = [(one, [(_stem(one, case), case) for case in conditions(contexts, one.step)]) for one in checkpoints]
    tasks = _tasks(raw_root, folder, wanted, state)
    n_sampled = 0
    try:
        for _, reasons in each(tasks, _sample, workers, len(tasks) < 2, lambda task: task.name):
            n_sampled += len(reasons)
            for stem, reason in reasons.items():
                state.put(stem, [], {"reason": reason})
    finally:
        with writing(landing):
            state.keep_only(stem for _, cases in wanted for stem, _ in cases)
            state.save()
    for path in folder.iterdir():
        if path.name != EMPTY_FILE and (path.suffix != ".parquet" or path.stem not in state.results):
            path.unlink()
    return _sampled(wanted, state), n_sampled


def _code_fingerprint() -> str:
    """A hash of the code that episodes come from, and of nothing that only reads them."""
    digest = hashlib.sha256(code_fingerprint(scaffold).encode())
    for module in (conditions_module, sampling_module):
        digest.update(Path(str(module.__file__)).read_bytes())
    return digest.hexdigest()


_Wanted = list[tuple[Checkpoint, list[tuple[str, Condition]]]]


def _stem(checkpoint: Checkpoint, condition: Condition) -> str:
    key = json.dumps([checkpoint.sha256, condition.specification()], sort_keys=True)
    return hashlib.sha256(key.encode()).hexdigest()[:32]


def _tasks(raw_root: Path, folder: Path, wanted: _Wanted, state: State) -> list[_Task]:
    tasks, planned = [], set()
    for checkpoint, cases in wanted:
        todo = []
        for stem, condition in cases:
            result = state.result(stem, [])
            is_current = result is not None and (result["reason"] or (folder / f"{stem}.parquet").exists())
            if not is_current and stem not in planned:
                planned.add(stem)
                todo.append((stem, condition))
        if todo:
            path = raw_root / checkpoint.artifact_id
            tasks.append(_Task(path, checkpoint.artifact_id, checkpoint.sha256, tuple(todo), folder))
    return tasks


def _sample(task: _Task) -> dict[str, str | None]:
    """Sample a task's conditions; returns for each the reason why it could not be done, or None."""
    try:
        with task.path.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != task.sha256:
                raise AssayError(f"{task.name} changed while it was read: build again")
        model = load(task.path, name=task.name)
    except OSError as error:
        raise AssayError(f"{task.name} cannot be read: {error.strerror or error}") from None
    except CheckpointError as error:
        return {stem: error.reason for stem, _ in task.conditions}
    reasons: dict[str, str | None] = {}
    for stem, condition in task.conditions:
        try:
            episodes = sample(model, task.sha256, condition)
        except CheckpointError as error:
            reasons[stem] = error.reason
            continue
        with writing(task.folder):
            part = task.folder / f"{stem}.part"
            pq.write_table(episodes, part, compression="zstd", compression_level=1)
            os.replace(part, part.with_suffix(".parquet"))
        reasons[stem] = None
    return reasons


def _sampled(wanted: _Wanted, state: State) -> pa.Table:
    rows: list[dict[str, Any]] = []
    for checkpoint, cases in wanted:
        for stem, condition in cases:
            reason = state.results[stem]["reason"]
            rows.append(
                {
                    "fixture": checkpoint.fixture,
                    "checkpoint": checkpoint.checkpoint,
                    "artifact_id": checkpoint.artifact_id,
                    "checkpoint_sha256": checkpoint.sha256,
                    "experiment": condition.experiment,
                    "condition": condition.name,
                    "n": condition.n,
                    "seed": condition.seed,
                    "sampler_version": SAMPLER_VERSION,
                    "status": "sampled" if reason is None else "unknown",
                    "reason": None if reason is None else f"{checkpoint.artifact_id}: {reason}",
                }
            )
    return pa.Table.from_pylist(rows, schema=SAMPLED)
