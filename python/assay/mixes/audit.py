"""Does a trainer that masks by message train exactly the turns it should? (contract: exports, 3)

Every row is rendered with the chat template and encoded; the label span of each trained turn is found and decoded
again. Where a turn stands in the rendered text is asked of the template itself: the same conversation is rendered once
more with one letter of every trained turn exchanged, and the letters that changed say where the turns are. So a text
that quotes another turn, or holds chat markers, cannot pass for one.

Without a tokenizer the mask is a flag on whole messages and is looked at as that: what trains is text and is not empty.
Nothing is rendered or encoded then, and every figure of tokens is unknown.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.chat_templates import ChatTemplate, TemplateRefusedError
from assay.mixes.tokenizer import AuditTokenizer
from assay.tokenizer_folder import TokenizerFailedError

LONGEST_CHARACTERS = 2_000_000
"""A longer rendered row is refused unread: no context holds it, and one word of that length takes minutes to encode."""

_CONTEXT_TOKENS = 4
_MARKS, _N_MARKS = 0xE000, 6400


@dataclass(frozen=True)
class Message:
    """One message of a conversation, as it is exported."""

    role: str
    content: str


@dataclass(frozen=True)
class RowRequest:
    """A row: its key, which messages of the conversation it holds, and which of them train."""

    mix: str
    row_id: str
    message_indexes: tuple[int, ...]
    trained: tuple[int, ...]


@dataclass(frozen=True)
class TurnAudit:
    """What was found of one trained turn. Tokens count from 0 in the encoded row; `end_token` is exclusive.

    The label span is the content and, where the template closes the turn with the tokenizer's stop token, that token.
    """

    message_index: int
    verdict: str
    reason: str | None
    first_token: int | None = None
    end_token: int | None = None
    stop_token_in_span: bool | None = None
    decoded_equal: bool | None = None
    n_boundary_merges: int | None = None


@dataclass(frozen=True)
class RowAudit:
    """What was found of one row and of its trained turns, in order of their messages."""

    verdict: str
    reason: str | None
    n_characters: int | None
    n_tokens: int | None
    n_injected_tokens: int | None
    turns: tuple[TurnAudit, ...]


@dataclass(frozen=True)
class Placed:
    """A rendered conversation: where its trained turns stand (characters), and why one stands nowhere."""

    text: str
    spans: Mapping[int, tuple[int, int]]
    faults: Mapping[int, str]


def place_turns(template: ChatTemplate, messages: Sequence[Message], trained: Iterable[int]) -> Placed:
    """Render a conversation and find the contents of the messages at the positions `trained`.

    Raises TemplateRefusedError when the template cannot render it.
    """
    text = _rendered(template, messages)
    wanted = list(trained)
    faults = {position: "empty_content" for position in wanted if not messages[position].content.strip()}
    marked = {
        position: _Mark.of(messages[position].content, number)
        for number, position in enumerate(position for position in wanted if position not in faults)
    }
    places = _changed_places(template, messages, text, marked)
    if places is None:
        places = {}
        for position, mark in marked.items():
            alone = _changed_places(template, messages, text, {position: mark})
            if alone is None:
                faults[position] = "template_depends_on_content"
            else:
                places |= alone
    spans: dict[int, tuple[int, int]] = {}
    for position, place in places.items():
        content = messages[position].content
        start = -1 if place is None else place - marked[position].offset
        if start < 0 or not text.startswith(content, start):
            faults[position] = "template_strips_think" if "</think>" in content else "template_changes_content"
        else:
            spans[position] = (start, start + len(content))
    return Placed(text, spans, faults)


@dataclass(frozen=True)
class _Mark:
    offset: int
    letter: str

    @classmethod
    def of(cls, content: str, number: int) -> "_Mark":
        """A letter for the last place of a text that is no white space, other than the one that stands there."""
        offset = len(content.rstrip()) - 1
        letter = chr(_MARKS + number % _N_MARKS)
        return cls(offset, letter if content[offset] != letter else chr(_MARKS + (number + 1) % _N_MARKS))

    def on(self, content: str) -> str:
        return content[: self.offset] + self.letter + content[self.offset + 1 :]


def _rendered(template: ChatTemplate, messages: Sequence[Message]) -> str:
    listed = [{"role": message.role, "content": message.content} for message in messages]
    return template.render(listed, limit=LONGEST_CHARACTERS + 1)


def _changed_places(
    template: ChatTemplate, messages: Sequence[Message], text: str, marked: Mapping[int, _Mark]
) -> dict[int, int | None] | None:
    """Where the marks show, each once (None: not at all); None when the text changes in any other way too."""
    if not marked:
        return {}
    exchanged = [
        Message(message.role, marked[position].on(message.content)) if position in marked else message
        for position, message in enumerate(messages)
    ]
    try:
        other = _rendered(template, exchanged)
    except TemplateRefusedError:
        return None
    if len(other) != len(text):
        return None
    places: dict[int, int | None] = {}
    restored: list[str] = []
    done = 0
    for position in sorted(marked):
        letter = marked[position].letter
        place = other.find(letter, done)
        while place >= 0 and text[place] == letter:  # the text has such letters of its own
            place = other.find(letter, place + 1)
        places[position] = place if place >= 0 else None
        if place >= 0:
            restored += [other[done:place], text[place]]
            done = place + 1
    return places if "".join([*restored, other[done:]]) == text else None


class EncodedText:
    """A rendered text and its tokens, possibly the beginning of a longer one that was encoded once for both."""

    def __init__(self, text: str, encoding: Any, identifiers: Sequence[int], n_tokens: int) -> None:
        """Take the text, the library's encoding of it or of a longer one, all ids, and how many belong to the text."""
        self.text, self.encoding, self.identifiers, self.n_tokens = text, encoding, identifiers, n_tokens

    @classmethod
    def of(cls, tokenizer: AuditTokenizer, text: str) -> "EncodedText":
        """Encode a text."""
        encoding = tokenizer.encode(text)
        identifiers = encoding.ids
        return cls(text, encoding, identifiers, len(identifiers))

    def beginning(self, tokenizer: AuditTokenizer, text: str) -> "EncodedText | None":
        """The tokens of a text that this one begins with, or None when they cannot be told from here.

        Where a control token stands right behind the shorter text, both are encoded alike up to it: control tokens are
        looked for first, and every piece between them is encoded by itself.
        """
        if text == self.text:
            return self
        if not self.text.startswith(text):
            return None
        token = self.encoding.char_to_token(len(text))
        if token is None or self.encoding.token_to_chars(token)[0] != len(text):
            return None
        if self.identifiers[token] not in tokenizer.control_ids:
            return None
        return EncodedText(text, self.encoding, self.identifiers, token)

    def token_at(self, character: int) -> int:
        """The first token of a character; where the tokenizer dropped the character, that of the next it kept."""
        for place in range(character, len(self.text)):
            token = self.encoding.char_to_token(place)
            if token is not None:
                return int(token)
        return self.n_tokens

    def starts_before(self, token: int, character: int) -> bool:
        """Whether a token began before a character, so that it belongs to both sides of a boundary."""
        return token < self.n_tokens and int(self.encoding.token_to_chars(token)[0]) < character


def audit_turn(
    tokenizer: AuditTokenizer, encoded: EncodedText, message_index: int, content: str, start: int, end: int
) -> TurnAudit:
    """Find and decode the label span of the content that stands at [start, end) of the rendered text."""
    first, behind = encoded.token_at(start), encoded.token_at(end)
    merges = int(encoded.starts_before(first, start)) + int(encoded.starts_before(behind, end))
    identifiers = encoded.identifiers[first:behind]
    equal = _decodes_to(tokenizer, encoded, first, identifiers, content)
    stops = (
        behind < encoded.n_tokens
        and tokenizer.stop_id is not None
        and encoded.identifiers[behind] == tokenizer.stop_id
        and not encoded.starts_before(behind, end)
    )
    reason = "boundary_merge" if merges else None if equal else "decodes_to_another_text"
    if tokenizer.n_control_tokens(content):
        reason = "control_token_in_content"
    return TurnAudit(
        message_index=message_index,
        verdict="pass" if reason is None else "fail",
        reason=reason,
        first_token=first,
        end_token=behind + int(stops),
        stop_token_in_span=stops,
        decoded_equal=equal and not merges,
        n_boundary_merges=merges,
    )


def _decodes_to(
    tokenizer: AuditTokenizer, encoded: EncodedText, first: int, identifiers: Sequence[int], content: str
) -> bool:
    if tokenizer.decode(identifiers) == content:
        return True
    # Some decoders drop the blank before the first word they are given; behind other words they keep it.
    context = encoded.identifiers[max(first - _CONTEXT_TOKENS, 0) : first]
    return tokenizer.decode([*context, *identifiers]) == tokenizer.decode(context) + content


def audit_conversation(
    tokenizer: AuditTokenizer | None, conversation: Mapping[int, Message], rows: Sequence[RowRequest]
) -> list[RowAudit]:
    """Audit all rows that are cut from one conversation; the result is in their order.

    `conversation` maps message indexes to messages. Rows that begin alike are encoded once.
    """
    if tokenizer is None:
        return [_by_message(conversation, row) for row in rows]
    # A role is text of the data too, and the template prints it beside its own markers.
    counts = {
        index: tokenizer.n_control_tokens(message.content) + tokenizer.n_control_tokens(message.role)
        for index, message in conversation.items()
    }
    placed: list[Placed | RowAudit] = [_placed(tokenizer, conversation, row, counts) for row in rows]
    results: list[RowAudit | None] = [one if isinstance(one, RowAudit) else None for one in placed]
    longest: EncodedText | None = None
    remaining = [(number, one) for number, one in enumerate(placed) if isinstance(one, Placed)]
    for number, one in sorted(remaining, key=lambda pair: (-len(pair[1].text), pair[0])):
        try:
            encoded = longest.beginning(tokenizer, one.text) if longest else None
            if encoded is None:
                longest = encoded = EncodedText.of(tokenizer, one.text)
            results[number] = _judged(tokenizer, conversation, rows[number], one, encoded, counts)
        except TokenizerFailedError as error:
            injected = sum(counts[index] for index in rows[number].message_indexes)
            results[number] = _failed(rows[number], f"tokenizer_failed: {error}"[:200], len(one.text), injected)
    return [result for result in results if result is not None]


def _placed(
    tokenizer: AuditTokenizer, conversation: Mapping[int, Message], row: RowRequest, counts: Mapping[int, int]
) -> Placed | RowAudit:
    injected = sum(counts.get(index, 0) for index in row.message_indexes)
    fault, size = _fault_of_texts(conversation, row)
    if fault is not None:
        return _failed(row, fault, size, injected)
    messages = [conversation[index] for index in row.message_indexes]
    place = {index: position for position, index in enumerate(row.message_indexes)}
    try:
        placed = place_turns(tokenizer.template, messages, (place[index] for index in row.trained))
    except TemplateRefusedError as error:
        return _failed(row, f"template_refused: {error}"[:200], size, injected)
    if len(placed.text) > LONGEST_CHARACTERS:
        return _failed(row, "too_long_to_encode", len(placed.text), injected)
    if not _is_text(placed.text):
        return _failed(row, "lone_surrogate", len(placed.text), injected)
    return placed


def _fault_of_texts(conversation: Mapping[int, Message], row: RowRequest) -> tuple[str | None, int | None]:
    """Why the texts of a row are none to train on, else null; and their characters."""
    if not row.message_indexes or any(index not in conversation for index in row.message_indexes):
        return "message_missing", None
    messages = [conversation[index] for index in row.message_indexes]
    size = sum(len(message.content) for message in messages)
    if size > LONGEST_CHARACTERS:
        return "too_long_to_encode", size
    return None if all(_is_text(message.content) for message in messages) else "lone_surrogate", size


def _by_message(conversation: Mapping[int, Message], row: RowRequest) -> RowAudit:
    fault, size = _fault_of_texts(conversation, row)
    if fault is not None:
        return _failed(row, fault, size, None)
    empty = {index for index in row.trained if not conversation[index].content.strip()}
    turns = tuple(
        TurnAudit(index, "fail", "empty_content") if index in empty else TurnAudit(index, "pass", None)
        for index in row.trained
    )
    reason = None if len(empty) < len(turns) else "no_trained_turn_passes"
    return RowAudit("pass" if reason is None else "fail", reason, None, None, None, turns)


def _judged(
    tokenizer: AuditTokenizer,
    conversation: Mapping[int, Message],
    row: RowRequest,
    placed: Placed,
    encoded: EncodedText,
    counts: Mapping[int, int],
) -> RowAudit:
    place = {index: position for position, index in enumerate(row.message_indexes)}
    turns = []
    for index in row.trained:
        fault = placed.faults.get(place[index])
        if fault is not None:
            turns.append(TurnAudit(index, "fail", fault))
        else:
            span = placed.spans[place[index]]
            turns.append(audit_turn(tokenizer, encoded, index, conversation[index].content, *span))
    trained = frozenset(row.trained)
    reason = None
    if any(counts[index] for index in row.message_indexes if index not in trained):
        reason = "control_token_in_context"
    elif not any(turn.verdict == "pass" for turn in turns):
        reason = "no_trained_turn_passes"
    elif any(counts[index] for index in row.message_indexes):
        # A trained turn that fails for its markers would be context of those that pass.
        reason = "control_token_in_context"
    injected = sum(counts[index] for index in row.message_indexes)
    if reason == "control_token_in_context":
        turns = [_because(turn, reason) for turn in turns]
    return RowAudit(
        "pass" if reason is None else "fail", reason, len(placed.text), encoded.n_tokens, injected, tuple(turns)
    )


def _because(turn: TurnAudit, reason: str) -> TurnAudit:
    """The turn, failed for a reason of its row unless it has one of its own."""
    return turn if turn.reason else TurnAudit(**{**vars(turn), "verdict": "fail", "reason": reason})


def _failed(row: RowRequest, reason: str, n_characters: int | None, injected: int | None) -> RowAudit:
    turns = tuple(TurnAudit(index, "fail", reason) for index in row.trained)
    return RowAudit("fail", reason, n_characters, None, injected, turns)


def unknown(row: RowRequest, reason: str) -> RowAudit:
    """A row nobody could look at; unknown never passes."""
    return RowAudit("unknown", reason, None, None, None, tuple(TurnAudit(i, "unknown", reason) for i in row.trained))


def _is_text(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
