"""A user's own runs: JSON lines, one trajectory a line, in any of the dialects that `conversations` reads."""

from typing import Any

from assay.landing.kinds import Facts, Kind
from assay.landing.rows import Rows
from assay.landing.sources.conversations import conversation

_TABLES = ("own_trajectories", "own_messages")


def _trajectory(record: dict[str, Any], facts: Facts, rows: Rows) -> None:
    conversation(record, _TABLES, rows)


_TRAJECTORIES = Kind("trajectories", "trajectories", "json_lines", _TABLES, _trajectory)


def classify(parts: tuple[str, ...]) -> tuple[Kind, Facts] | None:
    """Every `.jsonl` file, gzipped or not, wherever it lies below the folder."""
    return (_TRAJECTORIES, {}) if parts[-1].removesuffix(".gz").endswith(".jsonl") else None
