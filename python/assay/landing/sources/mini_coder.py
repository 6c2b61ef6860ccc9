"""mini-coder: trajectories in parquet shards. Contract: sn97, section c."""

from typing import Any

from assay.landing.kinds import Facts, Kind
from assay.landing.rows import Rows
from assay.landing.sources.conversations import conversation

_TABLES = ("mini_coder_trajectories", "mini_coder_messages")


def _trajectory(record: dict[str, Any], facts: Facts, rows: Rows) -> None:
    conversation(record, _TABLES, rows)


_TRAJECTORIES = Kind("mini_coder", "trajectories", "parquet", _TABLES, _trajectory)


def classify(parts: tuple[str, ...]) -> tuple[Kind, Facts] | None:
    """Every parquet file, wherever it lies below the folder."""
    return (_TRAJECTORIES, {}) if parts[-1].endswith(".parquet") else None
