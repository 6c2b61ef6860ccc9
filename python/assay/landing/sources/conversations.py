"""Conversations as data sets write them: one record, many dialects. Contract: sn97, section c, reader tolerance."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from assay.landing.faults import RefusedError
from assay.landing.fields import boolean, others, text_or_number
from assay.landing.json_text import TextCounts, dump, parse, type_name
from assay.landing.rows import Rows

_LIST_KEYS = ("messages", "turns", "conversation", "trajectory")
_ROLE_KEYS = ("role", "speaker", "from")
_CONTENT_KEYS = ("content", "text", "value", "message", "system_prompt")
_ROLES = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "prompter": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "gpt": "assistant",
    "bot": "assistant",
    "model": "assistant",
    "function_call": "assistant",
}
_EXIT_ROLE = "exit"
"""A harness's own note after the last turn: how it ended, and what was submitted."""
_ID_KEYS = ("id", "trajectory_id", "traj_id")
_FIELDS = ("instance_id", "model", "repo", "language", "family", "first_edit", "resolved", "verified")
_RETURNCODE_KEYS = ("returncode", "return_code", "exit_code")
_KNOWN = frozenset(_LIST_KEYS + _ID_KEYS + _FIELDS)
_SHELL_TOOLS = frozenset({"bash", "shell", "sh", "terminal", "execute_bash", "run_command", "run_bash", "exec"})

READ_COLUMNS = tuple(_KNOWN)
"""The columns worth reading from a parquet file; others are ignored, as the contract says."""


@dataclass(frozen=True)
class ToolCall:
    """A structured call as it was published: its id and its tool's name if it has them, its arguments as JSON text.

    Arguments that were published as text are that text, whether it is JSON or not.
    """

    id: str | None
    name: str | None
    arguments: str | None

    def command(self) -> str | None:
        """The shell command that the call runs; None for a call of another tool."""
        if self.name not in _SHELL_TOOLS:
            return None
        arguments = _parsed(self.arguments)
        command = arguments.get("command", arguments.get("cmd")) if type(arguments) is dict else None
        return command if type(command) is str else None

    def rendered(self) -> str:
        """The fenced block that stands for the call in a text: its command, else its name and arguments."""
        command = self.command()
        if command is not None:
            return f"```bash\n{command}\n```"
        return f"```json\n{dump({'name': self.name, 'arguments': _parsed(self.arguments)})}\n```"


def conversation(record: dict[str, Any], tables: tuple[str, str], rows: Rows) -> None:
    """Emit one trajectory row and one row a message that says something; `message_index` counts published messages.

    A message says something with a text, a call, a return code, or the id of the call it answers without any output.
    Messages that say nothing, and a harness's note of its end, are counted as skipped.
    """
    key, messages, rest = _message_list(record, rows.counts)
    emitted = 0
    for index, message in enumerate(messages):
        place = f"{key}[{index}]"
        if type(message) is not dict:
            raise RefusedError("wrong_type", f"{place}: expected object, found {type_name(message)}")
        calls = list(_tool_calls(message, place, rows.counts))
        content = _content(message, calls, place)
        answers, returncode = text_or_number(message.get("tool_call_id")), _returncode(message)
        if not content and answers is None and returncode is None:
            rows.skip("empty_message")
        elif (role := _role(message, place)) == _EXIT_ROLE:
            rows.skip("exit_message")
        else:
            published = [asdict(call) for call in calls] or None
            rows.emit(tables[1], index, role, content, published, answers, returncode)
            emitted += 1
    if not emitted:
        raise RefusedError("nothing_read", f"none of the {len(messages)} messages under {key} has text or a call")
    id_key = next((name for name in _ID_KEYS if record.get(name) is not None), _ID_KEYS[0])
    # A second list or a second id is not read, but not lost either; a list's wrapper keeps what stood beside it.
    known = {name for name in (*_LIST_KEYS, *_ID_KEYS) if record.get(name) is None} | {key, id_key}
    other = others(record, known.union(_FIELDS), [(key, rest, frozenset())])
    fields = {name: record.get(name) for name in _FIELDS}
    fields["instance_id"] = text_or_number(fields["instance_id"])
    fields |= {name: boolean(fields[name]) for name in ("resolved", "verified")}
    rows.emit(tables[0], text_or_number(record.get(id_key)), *fields.values(), emitted, other)


def _message_list(record: dict[str, Any], counts: TextCounts) -> tuple[str, list[Any], dict[str, Any]]:
    """The key of the list, the list, and what a dict around the list holds beside it."""
    for key in _LIST_KEYS:
        value = record.get(key)
        if type(value) is str:
            # Some data sets keep the list as JSON text; text that is not JSON is no list either.
            try:
                value = parse(value.encode("utf-8"), counts)
            except RefusedError:
                continue
        if type(value) is list:
            return key, value, {}
        if type(value) is dict:
            inner = next((inner for inner in _LIST_KEYS[:3] if type(value.get(inner)) is list), None)
            if inner is not None:
                return key, value[inner], {name: item for name, item in value.items() if name != inner}
    raise RefusedError("missing_field", "no list of messages under " + ", ".join(_LIST_KEYS))


def _role(message: dict[str, Any], place: str) -> str:
    value = next((message[key] for key in _ROLE_KEYS if message.get(key) is not None), None)
    if value is None:
        raise RefusedError("missing_field", f"{place}.role")
    if type(value) is not str:
        raise RefusedError("wrong_type", f"{place}.role: expected text, found {type_name(value)}")
    name = value.lower()
    return name if name == _EXIT_ROLE else _ROLES.get(name, "user")


def _content(message: dict[str, Any], calls: list[ToolCall], place: str) -> str:
    """The message's text, and its calls after it as fenced blocks."""
    value = next((message[key] for key in _CONTENT_KEYS if message.get(key) not in (None, "")), "")
    if type(value) is list:
        value = "\n".join(_parts(value, place))
    if type(value) is not str:
        raise RefusedError("wrong_type", f"{place}.content: expected text, found {type_name(value)}")
    return "\n\n".join([*([value] if value else ()), *(call.rendered() for call in calls)])


def _parts(parts: list[Any], place: str) -> Iterator[str]:
    for part in parts:
        text = part if type(part) is str else part.get("text") if type(part) is dict else None
        if type(text) is not str:
            raise RefusedError("wrong_type", f"{place}.content: a part that is not text")
        yield text


def _tool_calls(message: dict[str, Any], place: str, counts: TextCounts) -> Iterator[ToolCall]:
    """The structured calls of a message; without any, the one call of the older form `function_call`."""
    calls = message.get("tool_calls") or ()
    if type(calls) is str:
        calls = parse(calls.encode("utf-8"), counts) or ()
    if type(calls) not in (list, tuple):
        raise RefusedError("wrong_type", f"{place}.tool_calls: expected array, found {type_name(calls)}")
    older = message.get("function_call")
    if older is not None and not calls:
        if type(older) is not dict:
            raise RefusedError("wrong_type", f"{place}.function_call: expected object, found {type_name(older)}")
        calls = (older,)
    for call in calls:
        function = call.get("function", call) if type(call) is dict else None
        if type(function) is not dict:
            raise RefusedError("wrong_type", f"{place}.tool_calls: expected objects")
        yield ToolCall(*map(_text, (call.get("id"), function.get("name"), function.get("arguments"))))


def _text(value: Any) -> str | None:
    return value if type(value) is str else dump(value)


def _parsed(text: str | None) -> Any:
    """The value of a JSON text; text that is not sound JSON stays the text it is."""
    try:
        return None if text is None else parse(text.encode("utf-8"), TextCounts())
    except RefusedError:
        return text


def _returncode(message: dict[str, Any]) -> int | None:
    """The return code that the harness noted with an observation: in the message, or in what stands beside it."""
    extra = message.get("extra")
    for notes in (message, extra if type(extra) is dict else {}):
        for key in _RETURNCODE_KEYS:
            if type(notes.get(key)) is int:
                return int(notes[key])
    return None
