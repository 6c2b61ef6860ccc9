"""Turns and sides of every landed artifact, made where something changed, in a pool of processes."""

from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import assay.trajectories
import assay.validator
from assay.errors import AssayError
from assay.landing.run import STEP as LANDING
from assay.names import shown
from assay.steps.runner import Step, Write, run
from assay.steps.state import code_fingerprint, versions
from assay.steps.tables import Output, batch_of, files_of
from assay.trajectories.commands import CommandKinds, KindRule
from assay.trajectories.derive import (
    SIDES,
    TURNS,
    DuelSample,
    conversation_rows,
    duel_rows,
)

STEP = "trajectories"
OUTPUTS = {"turns": Output(TURNS), "sides": Output(SIDES)}
LINES_AT_A_TIME = 64
_MESSAGES_AT_A_TIME = 1024
_ALONE_BYTES = 4 << 20

_DUEL_MESSAGE_COLUMNS = [
    "line", "side", "message_index", "role", "content", "score_target", "environment_observation", "retry_feedback",
]  # fmt: skip
_CONVERSATION_MESSAGE_COLUMNS = [
    "line", "message_index", "role", "content", "tool_calls", "tool_call_id", "returncode",
]  # fmt: skip
_SAMPLE_COLUMNS = [
    "artifact_id", "line", "submit_command", "king_output", "challenger_output", "n_king_messages",
    "n_challenger_messages",
]  # fmt: skip

# Per source: the table with a row a line, the table with a row a message.
_DUELS = ("sn97_generated_samples", "sn97_messages")
_CONVERSATIONS = (("mini_coder_trajectories", "mini_coder_messages"), ("own_trajectories", "own_messages"))


@dataclass(frozen=True)
class _Task:
    lines: Path
    messages: Path
    version: str | None
    is_duel: bool
    is_graded: bool

    @property
    def key(self) -> str:
        return self.lines.stem

    @property
    def name(self) -> str:
        return str(self.lines)

    @property
    def size(self) -> int:
        return sum(path.stat().st_size for path in (self.lines, self.messages) if path.exists())

    @property
    def stamp(self) -> list[Any] | None:
        return None if self.version is None else [self.version, self.is_graded]


def derive_tree(landing: Path, rules: Sequence[KindRule], graded_runs: set[str], workers: int | None = None) -> int:
    """Bring `landing/turns` and `landing/sides` to what the landed artifacts say; return how many were made anew.

    `rules` are the rows of the seed `command_kinds`; `graded_runs` are the eval run ids of letter grades (V5b), whose
    harness also executes tagged blocks. One parquet file an artifact, and an empty one that carries the schema.
    """
    try:
        CommandKinds(rules)
    except ValueError as error:
        raise AssayError(str(error)) from None
    step = Step(
        name=STEP,
        folder=landing,
        outputs=OUTPUTS,
        fingerprint=code_fingerprint(assay.trajectories, assay.validator) + repr([astuple(rule) for rule in rules]),
        work=partial(_derive, tuple(rules)),
        alone_below=_ALONE_BYTES,
    )
    return len(run(step, list(_tasks(landing, graded_runs)), workers).new)


def _tasks(landing: Path, graded_runs: set[str]) -> Iterator[_Task]:
    landed = versions(landing, LANDING)
    for lines_table, messages_table in (_DUELS, *_CONVERSATIONS):
        for lines in files_of(landing, lines_table):
            is_duel = lines_table == _DUELS[0]
            yield _Task(
                lines=lines,
                messages=landing / messages_table / lines.name,
                version=landed.get(lines.stem),
                is_duel=is_duel,
                is_graded=is_duel and _run_of(lines) in graded_runs,
            )


def _run_of(lines: Path) -> str:
    first = next(pq.ParquetFile(lines).iter_batches(batch_size=1, columns=["eval_run_id"]))
    return str(first.column(0)[0].as_py())


def _derive(rules: tuple[KindRule, ...], task: _Task, write: Write) -> None:
    kinds = CommandKinds(rules)
    for turns, sides in _duel_pieces(task, kinds) if task.is_duel else _conversation_pieces(task, kinds):
        write("turns", batch_of(TURNS, turns))
        write("sides", batch_of(SIDES, sides))


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
            values = [_values(column) for column in batch.columns]
            yield from (dict(zip(columns, row, strict=True)) for row in zip(*values, strict=True))


def _values(column: pa.Array) -> list[Any]:
    # By way of numpy, which makes the values of a column at once; it has no null among whole numbers.
    if pa.types.is_list(column.type) or (column.null_count and pa.types.is_integer(column.type)):
        return list(column.to_pylist())
    return list(column.to_numpy(zero_copy_only=False).tolist())
