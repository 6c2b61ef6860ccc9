"""Reference facts and duel margins of every landed duel record, made where something changed."""

from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import assay.teacher
import assay.validator
from assay.steps.pool import each
from assay.steps.state import State, code_fingerprint
from assay.steps.writing import writing
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
from assay.teacher.tables import Writer, keep_only, landed_files, prepare, stamp

TABLES = ("teacher_reference_facts", "teacher_duel_margins", "teacher_duel_gates")
STATE_FILE = "teacher_duels.json"
ROWS_AT_A_TIME = 4096
_ALONE_BYTES = 4 << 20
_ROW_COLUMNS = ["line", "side", "row_index", "turn_id", "valid"]


@dataclass(frozen=True)
class _Task:
    landing: Path
    stem: str
    taus: tuple[float | None, ...]

    def landed(self, table: str) -> Path:
        return self.landing / table / f"{self.stem}.parquet"

    @property
    def stamp(self) -> list[Any]:
        names = ("sn120_duels", "sn120_teacher_references", "sn120_duel_rows", "sn120_pairs")
        return stamp(*map(self.landed, names))


def derive_duels(landing: Path, taus: Sequence[float | None], workers: int | None = None) -> int:
    """Bring the tables of `TABLES` to what the landed duel records say; return how many were made anew.

    `taus` are the temperings of every known version (null: none); each record's own is added to them.
    """
    prepare(landing, TABLES)
    fingerprint = code_fingerprint(assay.teacher, assay.validator) + repr(list(taus))
    state = State.load(landing / STATE_FILE, fingerprint)
    tasks = [_Task(landing, path.stem, tuple(taus)) for path in landed_files(landing, "sn120_duels")]
    todo = [task for task in tasks if not _is_current(task, state)]
    sizes = {task.stem: sum(size or 0 for size in task.stamp[::2]) for task in todo}
    todo.sort(key=lambda task: (-sizes[task.stem], task.stem))
    alone = sum(sizes.values()) < _ALONE_BYTES
    try:
        for task, _ in each(todo, _derive, workers, alone, lambda task: task.stem):
            state.put(task.stem, task.stamp, {})
    finally:
        with writing(landing):
            state.keep_only(task.stem for task in tasks)
            state.save()
    keep_only(landing, TABLES, [task.stem for task in tasks])
    return len(todo)


def _is_current(task: _Task, state: State) -> bool:
    return state.result(task.stem, task.stamp) is not None and all(
        (task.landing / table / f"{task.stem}.parquet").exists() for table in TABLES
    )


def _derive(task: _Task) -> None:
    with writing(task.landing):
        writers = {table: Writer(task.landing, table, task.stem) for table in TABLES}
        try:
            for rows in _reference_rows(task.landed("sn120_teacher_references")):
                writers["teacher_reference_facts"].write(rows)
            for record in pq.read_table(
                task.landed("sn120_duels"), columns=["artifact_id", "line", "duel_params"]
            ).to_pylist():
                _score(task, record, writers)
            for writer in writers.values():
                writer.close()
        except BaseException:
            for writer in writers.values():
                writer.abandon()
            raise


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


def _score(task: _Task, record: dict[str, Any], writers: dict[str, Writer]) -> None:
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
        taus = (*task.taus, own_tau(record["duel_params"]))
        writers["teacher_duel_margins"].write([(*keys, *astuple(margin)) for margin in margins(sides, taus)])
    endings = [value for side in ("king", "challenger") for value in astuple(common_ending(sides[side]))]
    gates = gate_values(sides["challenger"]) if reason is None else (None, None)
    writers["teacher_duel_gates"].write([(*keys, reason, *gates, *endings)])
