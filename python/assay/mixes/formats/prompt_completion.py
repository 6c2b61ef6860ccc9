"""Plain strings, one row a trained turn, with the chat template already applied: put none on top."""

import json
from collections.abc import Iterator

from assay.mixes.formats.base import Format, Row, Setting, rendered_turn, trained_places
from assay.mixes.rows import RowRecord


def rows(row: RowRecord, setting: Setting) -> Iterator[Row]:
    """For every trained turn the rendered text before its content; the content with the token that ends it.

    Raises UnfitRowError when the template does not print a content as it is.
    """
    for place in trained_places(row):
        text, start, end = rendered_turn(row, place, setting.tokenizer)
        stop = setting.stop_token
        closing = stop if stop and text.startswith(stop, end) else ""
        yield {"id": f"{row.id}/{place}", "prompt": text[:start], "completion": text[start:end] + closing}


def snippet(setting: Setting) -> str:
    """How a trainer for plain strings is told to read it."""
    return (
        f"data_file: {json.dumps(setting.data_file)}\n"
        "prompt_field: prompt\n"
        "completion_field: completion\n"
        "chat_template: none  # it is applied already\n"
        "add_special_tokens: false\n"
        "loss_on: completion\n"
        f"max_length: {setting.length}\n"
    )


FORMAT = Format("prompt-completion", ".jsonl", ".yaml", True, rows, snippet, needs_template=True)
