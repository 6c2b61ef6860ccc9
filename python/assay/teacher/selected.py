"""Selected references made into completions: repaired, checked, put together (contract sn120 C.5 to C.7)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from assay.steps.lock import locked
from assay.steps.tables import TableFiles, batch_of, keep_only, prepare
from assay.teacher.references import key_of
from assay.teacher.shell_syntax import Verdict, check_commands
from assay.teacher.tables import OUTPUTS, REPAIRED
from assay.validator.repairs import Repaired, repair_reference
from assay.validator.rollouts import command_of, completion_text, roundtrips

TABLE = "teacher_repaired"
STEM = "all"
_ROWS_AT_A_TIME = 2048
# What the environment says and a teacher may imitate: tool output, roles of a chat, a labelled observation.
_ENVIRONMENT_TURN = re.compile(
    r"<returncode>|</?output>|<\|(?:user|assistant|observation|im_start)\|>|^OBSERVATION:", re.MULTILINE
)


@dataclass(frozen=True)
class Selected:
    """A selected reference with its key."""

    corpus_epoch: int | None
    turn_id: str
    repaired: Repaired


def has_environment_turn(thought: str) -> bool:
    """Say whether a thought imitates a turn of the environment (contract C.6, 3)."""
    return _ENVIRONMENT_TURN.search(thought) is not None


def is_blank(repaired: Repaired) -> bool:
    """Say whether nothing is left of the thought or of the command (contract C.6, 1)."""
    return not repaired.thought or not command_of(repaired.action).strip()


def repair_selected(
    selected: Path, landing: Path, cue: str, pinned_version: str = "", workers: int | None = None
) -> None:
    """Write `teacher_repaired`: one row for every row of the parquet file `selected`, in its order.

    `selected` holds corpus_epoch, turn_id, thought and action; `cue` goes before every action, empty for none.
    """
    outputs = {TABLE: OUTPUTS[TABLE]}
    rows = [
        Selected(row["corpus_epoch"], row["turn_id"], repair_reference(row["thought"] or "", row["action"]))
        for batch in pq.ParquetFile(selected).iter_batches(batch_size=_ROWS_AT_A_TIME)
        for row in batch.to_pylist()
    ]
    with locked(landing, TABLE):
        prepare(landing, outputs)
        commands = (command_of(row.repaired.action) for row in rows)
        verdicts = check_commands(commands, landing, pinned_version, workers)
        with TableFiles(landing, outputs, STEM) as files:
            for begin in range(0, len(rows), _ROWS_AT_A_TIME):
                made = [_row(row, verdicts, cue or None) for row in rows[begin : begin + _ROWS_AT_A_TIME]]
                files.write(TABLE, batch_of(REPAIRED, made))
        keep_only(landing, outputs, {landing / TABLE / f"{STEM}.parquet"} if files.sizes else set())


def _row(selected: Selected, verdicts: Mapping[str, Verdict], cue: str | None) -> tuple[Any, ...]:
    repaired = selected.repaired
    verdict = verdicts[command_of(repaired.action)]
    completion = completion_text(repaired.thought, repaired.action, cue)
    return (
        selected.corpus_epoch,
        selected.turn_id,
        repaired.thought,
        repaired.action,
        completion,
        list(repaired.flags),
        len(repaired.thought),
        is_blank(repaired),
        has_environment_turn(repaired.thought),
        verdict.valid,
        verdict.checked_by,
        verdict.fault,
        all(roundtrips(repaired.thought, repaired.action, cue)),
        key_of(completion),
    )
