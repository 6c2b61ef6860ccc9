"""LLaMA-Factory's preference data: sharegpt with `ranking`; turns alternate and end before the reply."""

import json
from collections.abc import Iterator

from assay.mixes.formats.base import UNKNOWN_LENGTH, Format, Row, Setting, UnfitRowError
from assay.mixes.pairs import PairMessage, PairRecord

_NAMES = {"system": "system", "user": "human", "assistant": "gpt"}


def rows(pair: PairRecord, setting: Setting) -> Iterator[Row]:
    """One row. Raises UnfitRowError unless both roles take turns up to the reply."""
    start = 1 if pair.prompt and pair.prompt[0].role == "system" else 0
    talk = pair.prompt[start:]
    if not len(talk) % 2 or any(one.role != ("assistant" if place % 2 else "user") for place, one in enumerate(talk)):
        raise UnfitRowError("user and assistant do not take turns")
    (chosen,), (rejected,) = pair.chosen, pair.rejected
    yield {
        "conversations": [_said(message) for message in pair.prompt],
        "chosen": _said(chosen),
        "rejected": _said(rejected),
    }


def _said(message: PairMessage) -> Row:
    return {"from": _NAMES[message.role], "value": message.content}


def snippet(setting: Setting) -> str:
    """The entry of `dataset_info.json`, with what the training configuration must say beside it."""
    entry = {
        setting.dataset_name: {
            "file_name": setting.data_file,
            "formatting": "sharegpt",
            "ranking": True,
            "columns": {"messages": "conversations", "chosen": "chosen", "rejected": "rejected"},
            "tags": {"role_tag": "from", "content_tag": "value", "user_tag": "human", "assistant_tag": "gpt",
                     "system_tag": "system"},
        },
    }  # fmt: skip
    training = {
        "stage": "dpo",
        "dataset": setting.dataset_name,
        "cutoff_len": setting.max_row_tokens or UNKNOWN_LENGTH,
    }
    return json.dumps({"dataset_info.json": entry, "training configuration": training}, indent=2) + "\n"


FORMAT = Format("llamafactory-dpo", ".jsonl", ".json", True, rows, snippet)
