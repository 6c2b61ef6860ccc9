"""Episodes of every checkpoint under every condition, sampled where something is new, in a pool of processes."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import scaffold
from assay.errors import AssayError
from assay.names import shown
from assay.promotion import conditions as conditions_module
from assay.promotion import sampling as sampling_module
from assay.promotion.conditions import Condition, Context, conditions
from assay.promotion.sampling import EPISODES, sample
from assay.steps.runner import Outcome, Step, Write, run
from assay.steps.state import code_fingerprint
from assay.steps.tables import SUMMARY_FILE, Output, write_table
from assay.steps.writing import writing
from scaffold.model_np import SAMPLER_VERSION, CheckpointError, Model, load

EPISODES_TABLE, CONDITIONS_TABLE = "policy_episodes", "policy_conditions"
# Fewer episodes than a pool takes to start.
_ALONE_EPISODES = 500

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
    """A checkpoint file: its place below the raw root, its fixture, its name there, its hash and training step.

    `path` is the place as the file system has it, `artifact_id` the same as it is shown.
    """

    artifact_id: str
    path: str
    fixture: str
    checkpoint: str
    sha256: str
    step: int | None


@dataclass(frozen=True)
class _Task:
    """A condition that a content is sampled under; files of the same content share it."""

    path: Path
    name: str
    sha256: str
    condition: Condition

    @property
    def key(self) -> str:
        key = json.dumps([self.sha256, self.condition.specification()], sort_keys=True)
        return hashlib.sha256(key.encode()).hexdigest()[:32]

    @property
    def size(self) -> int:
        return self.condition.n

    @property
    def stamp(self) -> str:
        return "the key says it all"


def sample_tree(
    raw_root: Path,
    landing: Path,
    checkpoints: Sequence[Checkpoint],
    contexts: Sequence[tuple[Context, int, int]],
    workers: int | None = None,
) -> tuple[pa.Table, int]:
    """Bring `landing/policy_episodes` to what checkpoints and contexts say.

    Returns the table of `SAMPLED`, which is `landing/policy_conditions` too, and how many conditions were sampled anew.
    One parquet file for a (checkpoint content, condition); a checkpoint that cannot be sampled has none, and its reason
    in the table.
    """
    wanted = [
        (checkpoint, _Task(raw_root / checkpoint.path, checkpoint.artifact_id, checkpoint.sha256, condition))
        for checkpoint in checkpoints
        for condition in conditions(contexts, checkpoint.step)
    ]
    tables: list[pa.Table] = []

    def finish(outcome: Outcome) -> None:
        tables.append(_sampled(wanted, outcome.results))
        with writing(landing):
            (landing / CONDITIONS_TABLE).mkdir(exist_ok=True)
            write_table(landing / CONDITIONS_TABLE / SUMMARY_FILE, tables[0])

    step = Step(
        name=EPISODES_TABLE,
        folder=landing,
        outputs={EPISODES_TABLE: Output(EPISODES)},
        fingerprint=f"{SAMPLER_VERSION} {np.__version__} {_code_fingerprint()}",
        work=_sample,
        alone_below=_ALONE_EPISODES,
    )
    by_key = {task.key: task for _, task in reversed(wanted)}
    outcome = run(step, list(by_key.values()), workers, finish)
    return tables[0], len(outcome.new)


def _code_fingerprint() -> str:
    """A hash of the code that episodes come from, and of nothing that only reads them."""
    return code_fingerprint(scaffold, conditions_module, sampling_module)


def _sample(task: _Task, write: Write) -> str | None:
    """Sample a condition; returns the reason why it could not be done, or None."""
    try:
        episodes = sample(_model(task.path, task.name, task.sha256), task.sha256, task.condition)
    except CheckpointError as error:
        return error.reason
    for batch in episodes.to_batches():
        write(EPISODES_TABLE, batch)
    return None


@lru_cache(maxsize=1)
def _model(path: Path, name: str, sha256: str) -> Model:
    with path.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != sha256:
            raise AssayError(f"{shown(name)} changed while it was read: build again")
    return load(path, name=name)


def _sampled(wanted: Sequence[tuple[Checkpoint, _Task]], reasons: dict[str, str | None]) -> pa.Table:
    rows: list[dict[str, Any]] = []
    for checkpoint, task in wanted:
        reason = reasons[task.key]
        rows.append(
            {
                "fixture": checkpoint.fixture,
                "checkpoint": checkpoint.checkpoint,
                "artifact_id": checkpoint.artifact_id,
                "checkpoint_sha256": checkpoint.sha256,
                "experiment": task.condition.experiment,
                "condition": task.condition.name,
                "n": task.condition.n,
                "seed": task.condition.seed,
                "sampler_version": SAMPLER_VERSION,
                "status": "sampled" if reason is None else "unknown",
                "reason": None if reason is None else f"{checkpoint.artifact_id}: {reason}",
            }
        )
    return pa.Table.from_pylist(rows, schema=SAMPLED)
