"""ms-swift: `messages` with a `loss` flag; other keys of a message it removes."""

import json
from collections.abc import Iterator

from assay.mixes.formats.base import Format, Row, Setting, notes, with_flag
from assay.mixes.rows import RowRecord


def rows(row: RowRecord, setting: Setting) -> Iterator[Row]:
    """One row; `loss` on every message, so that no strategy decides."""
    yield {"messages": with_flag(row, "loss", True, False)}


def snippet(setting: Setting) -> str:
    """A configuration file for `swift sft`."""
    return (
        f"{notes(setting)}"
        f"dataset: [{json.dumps(setting.data_file)}]\n"
        "loss_scale: default  # only where a message has no flag of its own; here all have one\n"
        f"max_length: {setting.length}\n"
        "truncation_strategy: delete\n"
    )


FORMAT = Format("ms-swift", ".jsonl", ".yaml", False, rows, snippet)
