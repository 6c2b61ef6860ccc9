"""LLaMA-Factory v1: `loss_weight` on every message, content as a list of parts."""

import json
from collections.abc import Iterator

from assay.mixes.formats.base import Format, Row, Setting, notes
from assay.mixes.rows import RowRecord


def rows(row: RowRecord, setting: Setting) -> Iterator[Row]:
    """One row; a message without a weight would count fully, so every message has one."""
    yield {
        "messages": [
            {
                "role": message.role,
                "content": [{"type": "text", "value": message.content}],
                "loss_weight": 1.0 if message.train else 0.0,
            }
            for message in row.messages
        ]
    }


def snippet(setting: Setting) -> str:
    """The data set's entry, and the length to train with."""
    return (
        f"{notes(setting)}"
        f"{json.dumps(setting.dataset_name)}:\n"
        f"  path: {json.dumps(setting.data_file)}\n"
        "  source: local\n"
        f"# in the training configuration: cutoff_len: {setting.length}\n"
    )


FORMAT = Format("llamafactory-v1", ".jsonl", ".yaml", False, rows, snippet)
