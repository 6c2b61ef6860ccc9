"""LLaMA-Factory, the line before v1: only the last turn of a row can train alone, so one row a trained turn."""

import json
from collections.abc import Iterator

from assay.mixes.formats.base import UNKNOWN_LENGTH, Format, Row, Setting, UnfitRowError, plain, trained_places
from assay.mixes.rows import RowRecord


def rows(row: RowRecord, setting: Setting) -> Iterator[Row]:
    """For every trained turn the messages up to it. Raises UnfitRowError unless both roles take turns in them."""
    messages = plain(row)
    trained = trained_places(row)
    start = 1 if messages and messages[0]["role"] == "system" else 0
    # What stands behind the last trained turn is in no row.
    for number, message in enumerate(messages[start : max(trained, default=-1) + 1]):
        if message["role"] != ("assistant" if number % 2 else "user"):
            raise UnfitRowError("user and assistant do not take turns")
    for place in trained:
        yield {"messages": messages[: place + 1]}


def snippet(setting: Setting) -> str:
    """The entry of `dataset_info.json`, with what the training configuration must say beside it."""
    entry = {
        setting.dataset_name: {
            "file_name": setting.data_file,
            "formatting": "sharegpt",
            "columns": {"messages": "messages"},
            "tags": {
                "role_tag": "role",
                "content_tag": "content",
                "user_tag": "user",
                "assistant_tag": "assistant",
                "system_tag": "system",
            },
        },
    }
    training = {
        "dataset": setting.dataset_name,
        "mask_history": True,
        "cutoff_len": setting.max_row_tokens or UNKNOWN_LENGTH,
    }
    return json.dumps({"dataset_info.json": entry, "training configuration": training}, indent=2) + "\n"


FORMAT = Format("llamafactory-v0", ".jsonl", ".json", True, rows, snippet)
