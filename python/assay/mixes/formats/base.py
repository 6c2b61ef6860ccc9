"""What the adapters share."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from assay.chat_templates import ChatTemplate, TemplateRefusedError
from assay.mixes.audit import Message, place_turns
from assay.mixes.rows import RowRecord
from assay.mixes.tokenizer import AuditTokenizer

Row = dict[str, Any]
UNKNOWN_LENGTH = "MAX_ROW_TOKENS"


class UnfitRowError(ValueError):
    """Why a trainer cannot read a row, in a few words; the row is left out and counted."""


@dataclass(frozen=True)
class Setting:
    """What an adapter may know besides the row: the tokenizer that proved the masks, and what stands in the snippet.

    Without a tokenizer neither its template nor the length of a row is known.
    """

    tokenizer: AuditTokenizer | None
    data_file: str
    dataset_name: str
    max_row_tokens: int | None
    template_file: str | None

    @property
    def stop_token(self) -> str:
        """The token that ends a turn, as the tokenizer's settings name it; empty when they do not."""
        return (self.tokenizer and self.tokenizer.stop_token) or ""

    @property
    def ending(self) -> str:
        """The token that the template puts behind what an assistant says; empty when it puts none."""
        return turn_ending(self.tokenizer) if self.tokenizer else ""

    @property
    def length(self) -> str:
        """The context to train with, in tokens; a name to put a number in place of where it is not known."""
        return UNKNOWN_LENGTH if self.max_row_tokens is None else str(self.max_row_tokens)


@dataclass(frozen=True)
class Format:
    """A trainer's format.

    `rows` makes its rows from a canonical one, or from a preference pair, and raises UnfitRowError for one the trainer
    cannot read; `snippet` is its configuration, in a file of the name's ending `snippet_ending`. `one_row_a_turn`:
    every trained turn has its own row, since the trainer knows no mask by message. `masks_generation_prompt`: the
    trainer masks as many tokens of a reply as the template's generation prompt has, so that prompt may hold nothing
    that a reply does not.
    `needs_template`: its rows hold what the template printed, so there are none without a tokenizer.
    """

    name: str
    ending: str
    snippet_ending: str
    one_row_a_turn: bool
    rows: Callable[[Any, Setting], Iterator[Row]]
    snippet: Callable[[Setting], str]
    schema: pa.Schema | None = None
    masks_generation_prompt: bool = False
    needs_template: bool = False


def plain(row: RowRecord) -> list[Row]:
    """The messages as role and content alone."""
    return [{"role": message.role, "content": message.content} for message in row.messages]


def with_flag(row: RowRecord, name: str, yes: Any, no: Any) -> list[Row]:
    """The messages with a flag on every one, so that all rows have one shape."""
    return [
        {"role": message.role, "content": message.content, name: yes if message.train else no}
        for message in row.messages
    ]


def trained_places(row: RowRecord) -> list[int]:
    """The places of the messages that train, in order."""
    return [place for place, message in enumerate(row.messages) if message.train]


def rendered_turn(row: RowRecord, place: int, tokenizer: AuditTokenizer | None) -> tuple[str, int, int]:
    """The conversation up to a trained turn as the template prints it, and where the turn's content stands in it.

    Raises UnfitRowError when the template does not print the content as it is, or there is none.
    """
    if tokenizer is None:
        raise UnfitRowError("no tokenizer is named, so there is no template to print it with")
    messages = [Message(message.role, message.content) for message in row.messages[: place + 1]]
    try:
        placed = place_turns(tokenizer.template, messages, [place])
    except TemplateRefusedError as error:
        raise UnfitRowError(str(error)) from None
    if place in placed.faults:
        raise UnfitRowError(placed.faults[place])
    return placed.text, *placed.spans[place]


def turn_ending(tokenizer: AuditTokenizer) -> str:
    """The first token behind an assistant's content in a short conversation."""
    probe = [Message("user", "a"), Message("assistant", "b"), Message("user", "c")]
    try:
        placed = place_turns(tokenizer.template, probe, [1])
    except TemplateRefusedError:
        return ""
    if 1 not in placed.spans:
        return ""
    behind = placed.text[placed.spans[1][1] :]
    identifiers = tokenizer.encode(behind).ids
    return tokenizer.token(identifiers[0]) if identifiers and identifiers[0] in tokenizer.control_ids else ""


def training_template(source: str, tokenizer: AuditTokenizer) -> str | None:
    """A chat template for training whose generation prompt is exactly what it prints before a reply.

    None when the template's own is so already. A template that opens a think block in its generation prompt would make
    trainers mask the first tokens of every reply; this one renders conversations alike and ends its prompt where a
    reply begins. Raises UnfitRowError when the template cannot render a short conversation.
    """
    probe: list[Mapping[str, str]] = [{"role": "user", "content": "a"}]
    try:
        asked = tokenizer.template.render(probe, add_generation_prompt=True)
        placed = place_turns(tokenizer.template, [Message("user", "a"), Message("assistant", "b")], [1])
        before = tokenizer.template.render(probe)
    except TemplateRefusedError as error:
        raise UnfitRowError(str(error)) from None
    if 1 not in placed.spans or not placed.text.startswith(before):
        raise UnfitRowError("the template renders a prompt in another way than a conversation")
    opening = placed.text[: placed.spans[1][0]]
    if asked == opening:
        return None
    header = opening[len(before) :].replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    made = (
        "{%- set assay_wants_prompt = add_generation_prompt %}{%- set add_generation_prompt = false %}"
        + source
        + "{%- if assay_wants_prompt %}{{- '"
        + header
        + "' }}{%- endif %}"
    )
    again = ChatTemplate(made, tokenizer.named_tokens, tokenizer.today)
    talk = [*probe, {"role": "assistant", "content": "b"}]
    if again.render(probe, add_generation_prompt=True) != opening or again.render(talk) != placed.text:
        raise UnfitRowError("the template's generation prompt cannot be taken apart")
    return made


def notes(setting: Setting, masks_generation_prompt: bool = False) -> str:
    """Lines of a comment: a length that is to be filled in, and the template that lies beside the data."""
    lines = []
    if setting.max_row_tokens is None:
        lines += [
            "No tokenizer was named at the build, so no length is known: put that of your context in place of",
            f"{UNKNOWN_LENGTH}; a target that ends behind it is cut off.",
        ]
    if masks_generation_prompt and setting.tokenizer is None:
        lines += [
            "Where the generation prompt of your chat template holds more than a reply begins with (it opens a think",
            "block), as much of every reply is masked: name your tokenizer to a build, and a template comes with it.",
        ]
    if setting.template_file is not None:
        lines += [
            f"Put {setting.template_file} in the place of the tokenizer's chat template for training: the generation",
            "prompt of its own holds more than a reply begins with, and as much of every reply would be masked.",
        ]
    return "".join(f"# {line}\n" for line in lines)
