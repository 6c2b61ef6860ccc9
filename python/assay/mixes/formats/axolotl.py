"""axolotl: `type: chat_template` with a training flag on every message."""

import json
from collections.abc import Iterator

from assay.mixes.formats.base import Format, Row, Setting, notes, with_flag
from assay.mixes.rows import RowRecord


def rows(row: RowRecord, setting: Setting) -> Iterator[Row]:
    """One row; `train` on every message decides by itself, since no role trains by default."""
    yield {"id": row.id, "messages": with_flag(row, "train", True, False)}


def snippet(setting: Setting) -> str:
    """The part of an axolotl configuration that reads the file."""
    lines = [
        "datasets:",
        f"  - path: {json.dumps(setting.data_file)}",
        "    ds_type: json",
        "    type: chat_template",
        "    field_messages: messages",
        "    message_property_mappings: {role: role, content: content}",
        "    message_field_training: train",
        "    roles_to_train: []  # only the flag decides",
        "    train_on_eos: turn  # the token that ends a trained turn is learnt with it",
        "chat_template: tokenizer_default",
        f"sequence_len: {setting.length}",
    ]
    if setting.ending and setting.ending != setting.stop_token:
        lines.append(
            f"eot_tokens: [{json.dumps(setting.ending)}]  # this template ends turns with it, not with its EOS"
        )
    if setting.tokenizer is None:
        lines.append("# eot_tokens: [...]  # where your template ends turns with another token than its EOS")
    return notes(setting) + "\n".join(lines) + "\n"


FORMAT = Format("axolotl", ".jsonl", ".yaml", False, rows, snippet)
