"""TRL's preference trainers (DPO and its kin): conversational prompt, chosen and rejected; what is behind the prompt
trains.
"""

from collections.abc import Iterator

from assay.mixes.formats.base import Format, Row, Setting, notes
from assay.mixes.pairs import PairRecord


def rows(pair: PairRecord, setting: Setting) -> Iterator[Row]:
    """One row: the messages both sides share, and one reply of each."""
    sides = {"prompt": pair.prompt, "chosen": pair.chosen, "rejected": pair.rejected}
    texts = {name: [{"role": one.role, "content": one.content} for one in side] for name, side in sides.items()}
    yield {"id": pair.id, **texts}


def snippet(setting: Setting) -> str:
    """A training script's settings; the default `max_length` of 1024 would cut every reply off."""
    template = f"# with {setting.template_file!r} as the tokenizer's chat_template\n" if setting.template_file else ""
    return (
        f"{notes(setting, True)}"
        f"{template}"
        "from datasets import load_dataset\n"
        "from trl import DPOConfig\n\n"
        f'dataset = load_dataset("json", data_files={setting.data_file!r}, split="train").remove_columns("id")\n'
        f"arguments = DPOConfig(max_length={setting.length})\n"
    )


FORMAT = Format("trl-dpo", ".jsonl", ".py", True, rows, snippet, masks_generation_prompt=True)
