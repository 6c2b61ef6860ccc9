"""TRL: conversational prompt-completion, one row a trained turn, since it knows no mask by message."""

from collections.abc import Iterator

from assay.mixes.formats.base import Format, Row, Setting, notes, plain, trained_places
from assay.mixes.rows import RowRecord


def rows(row: RowRecord, setting: Setting) -> Iterator[Row]:
    """For every trained turn the messages before it, and it alone."""
    messages = plain(row)
    for place in trained_places(row):
        yield {"id": f"{row.id}/{place}", "prompt": messages[:place], "completion": [messages[place]]}


def snippet(setting: Setting) -> str:
    """A training script's settings; the default `max_length` of 1024 would cut every target off."""
    template = f"    chat_template_path={setting.template_file!r},\n" if setting.template_file else ""
    return (
        f"{notes(setting, True)}"
        "from datasets import load_dataset\n"
        "from trl import SFTConfig\n\n"
        f'dataset = load_dataset("json", data_files={setting.data_file!r}, split="train").remove_columns("id")\n'
        "arguments = SFTConfig(\n"
        "    completion_only_loss=True,\n"
        f"    max_length={setting.length},\n"
        f"{template}"
        ")\n"
    )


FORMAT = Format("trl", ".jsonl", ".py", True, rows, snippet, masks_generation_prompt=True)
