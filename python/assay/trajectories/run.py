"""Turns and sides of every landed artifact, made where something changed, in a pool of processes."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import assay.trajectories
import assay.validator
from assay.errors import AssayError
from assay.names import shown
from assay.steps.pool import each
from assay.steps.state import State, code_fingerprint
from assay.steps.writing import writing
from assay.trajectories.commands import CommandKinds, KindRule
from assay.trajectories.derive import (
    SIDES,
    TURNS,
    DuelSample,
    conversation_rows,
    duel_rows,
)

OUTPUTS = {"turns": TURNS, "sides": SIDES}
STATE_FILE = "trajectories.json"
EMPTY_FILE = "empty.parquet"
LINES_AT_A_TIME = 64
_MESSAGES_AT_A_TIME = 1024
_ALONE_BYTES = 4 << 20

_DUEL_MESSAGE_COLUMNS = [
    "line", "side", "message_index", "role", "content", "score_target", "environment_observation", "retry_feedback",
]  # fmt: skip
_CONVERSATION_MESSAGE_COLUMNS = ["line", "message_index", "role", "content"]
_SAMPLE_COLUMNS = [
    "artifact_id", "line", "submit_command", "king_output", "challenger_output", "n_king_messages",
    "n_challenger_messages",
]  # fmt: skip

# Per source: the table with a row a line, the table with a row a message.
_DUELS = ("sn97_generated_samples", "sn97_messages")
_CONVERSATIONS = (("mini_coder_trajectories", "mini_coder_messages"), ("own_trajectories", "own_messages"))


@dataclass(frozen=True)
class _Task:
    stem: str
    lines: Path
    messages: Path
    is_duel: bool
    is_graded: bool
    output: Path
    rules: tuple[KindRule, ...]

    @property
    def stamp(self) -> list[Any]:
        inputs = [path.stat() for path in (self.lines, self.messages) if path.exists()]
        return [self.is_graded, *([status.st_size, status.st_mtime_ns] for status in inputs)]

    @property
    def size(self) -> int:
        return sum(path.stat().st_size for path in (self.lines, self.messages) if path.exists())


def derive_tree(landing: Path, rules: Sequence[KindRule], graded_runs: set[str], workers: int | None = None) -> int:
    """Bring `landing/turns` and `landing/sides` to what the landed artifacts say; return how many were made anew.

    `rules` are the rows of the seed `command_kinds`; `graded_runs` are the eval run ids of letter grades (V5b), whose
    harness also executes tagged blocks. One parquet file an artifact, and an empty one that carries the schema.
    """
    CommandKinds(rules)  # a faulty rule is named before any process starts
    for name, schema in OUTPUTS.items():
        (landing / name).mkdir(parents=True, exist_ok=True)
        pq.write_table(schema.empty_table(), landing / name / EMPTY_FILE)
    fingerprint = code_fingerprint(assay.trajectories, assay.validator) + repr([astuple(rule) for rule in rules])
    state = State.load(landing / STATE_FILE, fingerprint)
    tasks = list(_tasks(landing, tuple(rules), graded_runs))
    todo = [task for task in tasks if not _is_current(task, state)]
    todo.sort(key=lambda task: (-task.size, task.stem))
    alone = sum(task.size for task in todo) < _ALONE_BYTES
    try:
        for task, _ in each(todo, _derive, workers, alone, lambda task: task.stem):
            state.put(task.stem, task.stamp, {})
    finally:
        with writing(landing):
            state.keep_only(task.stem for task in tasks)
            state.save()
    current = {task.stem for task in tasks}
    for name in OUTPUTS:
        for path in (landing / name).iterdir():
            if path.name != EMPTY_FILE and (path.suffix == ".part" or path.stem not in current):
                path.unlink()
    return len(todo)


def _tasks(landing: Path, rules: tuple[KindRule, ...], graded_runs: set[str]) -> Iterator[_Task]:
    for lines_table, messages_table in (_DUELS, *_CONVERSATIONS):
        for lines in sorted((landing / lines_table).glob("*.parquet")):
            if lines.name == EMPTY_FILE:
                continue
            is_duel = lines_table == _DUELS[0]
            yield _Task(
                stem=lines.stem,
                lines=lines,
                messages=landing / messages_table / lines.name,
                is_duel=is_duel,
                is_graded=is_duel and _run_of(lines) in graded_runs,
                output=landing,
                rules=rules,
            )


def _run_of(lines: Path) -> str:
    first = next(pq.ParquetFile(lines).iter_batches(batch_size=1, columns=["eval_run_id"]))
    return str(first.column(0)[0].as_py())


def _is_current(task: _Task, state: State) -> bool:
    return state.result(task.stem, task.stamp) is not None and all(
        (task.output / name / f"{task.stem}.parquet").exists() for name in OUTPUTS
    )


def _derive(task: _Task) -> None:
    kinds = CommandKinds(task.rules)
    writers = {name: _Writer(task.output / name / f"{task.stem}.parquet", schema) for name, schema in OUTPUTS.items()}
    with writing(task.output):
        try:
            for turns, sides in _duel_pieces(task, kinds) if task.is_duel else _conversation_pieces(task, kinds):
                writers["turns"].write(turns)
                writers["sides"].write(sides)
            for writer in writers.values():
                writer.close()
        except BaseException:
            for writer in writers.values():
                writer.abandon()
            raise


Piece = tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]


def _duel_pieces(task: _Task, kinds: CommandKinds) -> Iterator[Piece]:
    for samples in _with_messages(task, _SAMPLE_COLUMNS, _DUEL_MESSAGE_COLUMNS):
        turns: list[tuple[Any, ...]] = []
        sides: list[tuple[Any, ...]] = []
        for record, messages in samples:
            for side in ("king", "challenger"):
                sample = DuelSample(
                    line=record["line"],
                    side=side,
                    document=record[f"{side}_output"],
                    has_messages=bool(record[f"n_{side}_messages"]),
                    submit_command=record["submit_command"],
                    takes_tagged=task.is_graded,
                )
                own = [message for message in messages if message["side"] == side]
                side_turns, side_row = duel_rows(record["artifact_id"], sample, own, kinds)
                turns += side_turns
                sides.append(side_row)
        yield turns, sides


def _conversation_pieces(task: _Task, kinds: CommandKinds) -> Iterator[Piece]:
    for trajectories in _with_messages(task, ["artifact_id", "line"], _CONVERSATION_MESSAGE_COLUMNS):
        turns: list[tuple[Any, ...]] = []
        sides: list[tuple[Any, ...]] = []
        for record, messages in trajectories:
            side_turns, side_row = conversation_rows(record["artifact_id"], record["line"], messages, kinds)
            turns += side_turns
            sides.append(side_row)
        yield turns, sides


Row = dict[str, Any]
_NO_MORE: tuple[None, tuple[Row, ...]] = (None, ())


def _with_messages(
    task: _Task, columns: list[str], message_columns: list[str]
) -> Iterator[list[tuple[Row, list[Row]]]]:
    """Some lines at a time, each with its messages; both tables stand in order of line."""
    by_line = groupby(_rows(task.messages, message_columns), key=lambda message: message["line"])
    line, messages = next(by_line, _NO_MORE)
    for batch in pq.ParquetFile(task.lines).iter_batches(batch_size=LINES_AT_A_TIME, columns=columns):
        joined: list[tuple[Row, list[Row]]] = []
        for record in batch.to_pylist():
            if record["line"] == line:
                joined.append((record, list(messages)))
                line, messages = next(by_line, _NO_MORE)
            else:
                joined.append((record, []))
        yield joined
    if line is not None:
        raise AssayError(f"{shown(task.messages)} has messages of line {line}, which is not landed: land it anew")


def _rows(path: Path, columns: list[str]) -> Iterator[Row]:
    if path.exists():
        for batch in pq.ParquetFile(path).iter_batches(batch_size=_MESSAGES_AT_A_TIME, columns=columns):
            # By way of numpy, which makes the values of a column at once; whole numbers are never null here.
            values = [column.to_numpy(zero_copy_only=False).tolist() for column in batch.columns]
            yield from (dict(zip(columns, row, strict=True)) for row in zip(*values, strict=True))


class _Writer:
    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.path = path
        self.part = path.with_suffix(".part")
        self.schema = schema
        self.writer: pq.ParquetWriter | None = None

    def write(self, rows: list[tuple[Any, ...]]) -> None:
        if self.writer is None:
            self.writer = pq.ParquetWriter(self.part, self.schema, compression="zstd", compression_level=1)
        columns = list(zip(*rows, strict=True)) if rows else [()] * len(self.schema)
        arrays = [pa.array(column, field.type) for column, field in zip(columns, self.schema, strict=True)]
        self.writer.write_batch(pa.record_batch(arrays, schema=self.schema))

    def close(self) -> None:
        if self.writer is None:
            pq.write_table(self.schema.empty_table(), self.part)
        else:
            self.writer.close()
        os.replace(self.part, self.path)

    def abandon(self) -> None:
        if self.writer is not None:
            self.writer.close()
        self.part.unlink(missing_ok=True)
