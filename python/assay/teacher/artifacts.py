"""Reference facts and duel margins of every landed duel record, made where something changed."""

from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import assay.teacher
import assay.validator
from assay.landing.run import STEP as LANDING
from assay.steps.runner import Step, Write, run
from assay.steps.state import code_fingerprint, versions
from assay.steps.tables import batch_of, files_of
from assay.teacher.duel_facts import (
    PAIR_NAMES,
    common_ending,
    gate_values,
    margins,
    own_tau,
    rows_of,
    unknown_reason,
)
from assay.teacher.references import content_key, reference_facts
from assay.teacher.tables import DUEL_GATES, DUEL_MARGINS, OUTPUTS, REFERENCE_FACTS

STEP = "teacher_duels"
TABLES = ("teacher_reference_facts", "teacher_duel_margins", "teacher_duel_gates")
ROWS_AT_A_TIME = 4096
_ALONE_BYTES = 4 << 20
_ROW_COLUMNS = ["line", "side", "row_index", "turn_id", "valid"]
_READ = ("sn120_duels", "sn120_teacher_references", "sn120_duel_rows", "sn120_pairs")


@dataclass(frozen=True)
class _Task:
    landing: Path
    key: str
    version: str | None

    def landed(self, table: str) -> Path:
        return self.landing / table / f"{self.key}.parquet"

    @property
    def name(self) -> str:
        return str(self.landed("sn120_duels"))

    @property
    def size(self) -> int:
        return sum(path.stat().st_size for path in map(self.landed, _READ) if path.exists())

    @property
    def stamp(self) -> str | None:
        return self.version


def derive_duels(landing: Path, taus: Sequence[float | None], workers: int | None = None) -> int:
    """Bring the tables of `TABLES` to what the landed duel records say; return how many were made anew.

    `taus` are the temperings of every known version (null: none); each record's own is added to them.
    """
    landed = versions(landing, LANDING)
    tasks = [_Task(landing, path.stem, landed.get(path.stem)) for path in files_of(landing, "sn120_duels")]
    step = Step(
        name=STEP,
        folder=landing,
        outputs={table: OUTPUTS[table] for table in TABLES},
        fingerprint=code_fingerprint(assay.teacher, assay.validator) + repr(list(taus)),
        work=partial(_derive, tuple(taus)),
        alone_below=_ALONE_BYTES,
    )
    return len(run(step, tasks, workers).new)


def _derive(taus: tuple[float | None, ...], task: _Task, write: Write) -> None:
    for rows in _reference_rows(task.landed("sn120_teacher_references")):
        write("teacher_reference_facts", batch_of(REFERENCE_FACTS, rows))
    columns = ["artifact_id", "line", "duel_params"]
    for record in pq.read_table(task.landed("sn120_duels"), columns=columns).to_pylist():
        _score(task, record, taus, write)


def _reference_rows(path: Path) -> Iterator[list[tuple[Any, ...]]]:
    if not path.exists():
        return
    columns = ["artifact_id", "line", "turn_id", "reference_index", "thought", "action", "lp_own", "lp_empty"]
    for batch in pq.ParquetFile(path).iter_batches(batch_size=ROWS_AT_A_TIME, columns=columns):
        rows = []
        for record in batch.to_pylist():
            thought, action = record["thought"], record["action"]
            content = content_key(thought, action, record["lp_own"], record["lp_empty"])
            keys = (record["artifact_id"], record["line"], record["turn_id"], record["reference_index"])
            rows.append((*keys, *astuple(reference_facts(action)), content))
        yield rows


def _score(task: _Task, record: dict[str, Any], taus: tuple[float | None, ...], write: Write) -> None:
    def of_record(table: str, columns: list[str]) -> list[dict[str, Any]]:
        path = task.landed(table)
        if not path.exists():
            return []
        rows: list[dict[str, Any]] = pq.read_table(
            path, columns=columns, filters=[("line", "==", record["line"])]
        ).to_pylist()
        return rows

    pair_columns = ["line", "side", "row_index", "pair_index", *PAIR_NAMES]
    sides = rows_of(of_record("sn120_duel_rows", _ROW_COLUMNS), of_record("sn120_pairs", pair_columns))
    keys = (record["artifact_id"], record["line"])
    reason = unknown_reason(sides)
    if reason is None:
        asked = (*taus, own_tau(record["duel_params"]))
        rows = [(*keys, *astuple(margin)) for margin in margins(sides, asked)]
        write("teacher_duel_margins", batch_of(DUEL_MARGINS, rows))
    endings = [value for side in ("king", "challenger") for value in astuple(common_ending(sides[side]))]
    gates = gate_values(sides["challenger"]) if reason is None else (None, None)
    write("teacher_duel_gates", batch_of(DUEL_GATES, [(*keys, reason, *gates, *endings)]))
