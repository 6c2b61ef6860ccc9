"""verl: every assistant message of a row trains, so a row a trained turn in which it is the only one.

What lies between the system prompt and the trained turn becomes one user message that holds the template's own markers;
rendered again it is the same text, so the model sees the same tokens and only the last turn is an assistant's message.
"""

import json
from collections.abc import Iterator

import pyarrow as pa

from assay.chat_templates import TemplateRefusedError
from assay.mixes.formats.base import (
    Format,
    Row,
    Setting,
    UnfitRowError,
    notes,
    plain,
    rendered_turn,
    trained_places,
)
from assay.mixes.rows import RowRecord
from assay.mixes.tokenizer import AuditTokenizer

_MARK = "\ue0f1\ue0f2\ue0f3"
_MESSAGE = pa.struct([("role", pa.string()), ("content", pa.string())])


def rows(row: RowRecord, setting: Setting) -> Iterator[Row]:
    """For every trained turn one row. Raises UnfitRowError when its context cannot be folded without a change."""
    for place in trained_places(row):
        text, _, _ = rendered_turn(row, place, setting.tokenizer)
        if setting.tokenizer is not None:
            yield {"messages": folded(plain(row)[: place + 1], text, setting.tokenizer)}


def folded(messages: list[Row], text: str, tokenizer: AuditTokenizer) -> list[Row]:
    """The leading system message, one user message, and the last message, which render to exactly the text."""
    head = messages[:1] if messages[0]["role"] == "system" else []
    if len(messages) - len(head) < 2:
        raise UnfitRowError("no message stands before the trained turn")
    try:
        around = tokenizer.template.render([*head, {"role": "user", "content": _MARK}, messages[-1]])
        before, _, behind = around.partition(_MARK)
        if not text.startswith(before) or not text.endswith(behind) or len(before) + len(behind) > len(text):
            raise UnfitRowError("the context cannot be folded into one message")
        context = {"role": "user", "content": text[len(before) : len(text) - len(behind)]}
        result = [*head, context, messages[-1]]
        if tokenizer.template.render(result) != text:
            raise UnfitRowError("the context cannot be folded into one message")
    except TemplateRefusedError as error:
        raise UnfitRowError(str(error)) from None
    return result


def snippet(setting: Setting) -> str:
    """The data part of a training configuration."""
    return (
        f"{notes(setting, True)}"
        "# The user message of a row holds the markers of the template it was made with; another one does not fit.\n"
        "data:\n"
        f"  train_files: {json.dumps(setting.data_file)}\n"
        "  messages_key: messages\n"
        "  multiturn: {enable: true, messages_key: messages}\n"
        f"  max_length: {setting.length}\n"
        "  truncation: error\n"
        "  ignore_input_ids_mismatch: false\n"
    )


FORMAT = Format(
    "verl", ".parquet", ".yaml", True, rows, snippet, pa.schema([("messages", pa.list_(_MESSAGE))]), True, True
)
