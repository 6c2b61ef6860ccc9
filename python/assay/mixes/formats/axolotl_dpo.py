"""axolotl, `rl: dpo` with `type: chat_template.default`: messages up to the reply, one message chosen, one rejected."""

import json
from collections.abc import Iterator

from assay.mixes.formats.base import Format, Row, Setting, UnfitRowError, notes
from assay.mixes.pairs import PairRecord

_ROLES = ("system", "user", "assistant", "tool")


def rows(pair: PairRecord, setting: Setting) -> Iterator[Row]:
    """One row. Raises UnfitRowError for a role that axolotl has no name for."""
    messages = [{"role": message.role, "content": message.content} for message in pair.prompt]
    if any(message["role"] not in _ROLES for message in messages):
        raise UnfitRowError("a message has a role that is none of system, user, assistant and tool")
    (chosen,), (rejected,) = pair.chosen, pair.rejected
    yield {
        "id": pair.id,
        "messages": messages,
        "chosen": {"role": chosen.role, "content": chosen.content},
        "rejected": {"role": rejected.role, "content": rejected.content},
    }


def snippet(setting: Setting) -> str:
    """The part of an axolotl configuration that reads the file."""
    if setting.template_file is None:
        template = "chat_template: tokenizer_default\n"
    else:
        template = f"chat_template: jinja\nchat_template_jinja: {json.dumps(setting.template_file)}\n"
    return (
        f"{notes(setting, True)}"
        "rl: dpo\n"
        "datasets:\n"
        f"  - path: {json.dumps(setting.data_file)}\n"
        "    ds_type: json\n"
        "    split: train\n"
        "    type: chat_template.default\n"
        "    field_messages: messages\n"
        "    field_chosen: chosen\n"
        "    field_rejected: rejected\n"
        "    message_property_mappings: {role: role, content: content}\n"
        f"{template}"
        f"sequence_len: {setting.length}\n"
    )


FORMAT = Format("axolotl-dpo", ".jsonl", ".yaml", True, rows, snippet, masks_generation_prompt=True)
