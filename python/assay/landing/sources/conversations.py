"""Conversations as data sets write them: one record, many dialects. Contract: sn97, section c, reader tolerance."""

import contextlib
from collections.abc import Iterator
from typing import Any

from assay.landing.faults import RefusedError
from assay.landing.fields import others
from assay.landing.json_text import TextCounts, dump, parse, type_name
from assay.landing.rows import Rows

_LIST_KEYS = ("messages", "turns", "conversation", "trajectory")
_ROLE_KEYS = ("role", "speaker", "from")
_CONTENT_KEYS = ("content", "text", "value", "message")
_ROLES = {
    "system": "system",
    "user": "user",
    "human": "user",
    "prompter": "user",
    "assistant": "assistant",
    "gpt": "assistant",
    "bot": "assistant",
    "model": "assistant",
}
_ID_KEYS = ("id", "trajectory_id", "traj_id")
_FIELDS = ("instance_id", "model", "repo", "language", "family", "first_edit", "resolved", "verified")
_KNOWN = frozenset(_LIST_KEYS + _ID_KEYS + _FIELDS)
_SHELL_TOOLS = frozenset({"bash", "shell", "sh", "terminal", "execute_bash", "run_command", "run_bash", "exec"})

READ_COLUMNS = tuple(_KNOWN)
"""The columns worth reading from a parquet file; others are ignored, as the contract says."""


def conversation(record: dict[str, Any], tables: tuple[str, str], rows: Rows) -> None:
    """Emit one trajectory row and one row a message with content; `message_index` counts published messages."""
    key, messages, rest = _message_list(record, rows.counts)
    emitted = 0
    for index, message in enumerate(messages):
        if type(message) is not dict:
            raise RefusedError("wrong_type", f"{key}[{index}]: expected object, found {type_name(message)}")
        content = _content(message, f"{key}[{index}]", rows.counts)
        if content:
            rows.emit(tables[1], index, _role(message, f"{key}[{index}]"), content)
            emitted += 1
    id_key = next((name for name in _ID_KEYS if record.get(name) is not None), _ID_KEYS[0])
    # A second list or a second id is not read, but not lost either; a list's wrapper keeps what stood beside it.
    known = {name for name in (*_LIST_KEYS, *_ID_KEYS) if record.get(name) is None} | {key, id_key}
    other = others(record, known.union(_FIELDS), [(key, rest, frozenset())])
    rows.emit(tables[0], record.get(id_key), *map(record.get, _FIELDS), emitted, other)


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
    return _ROLES.get(value.lower(), "user")


def _content(message: dict[str, Any], place: str, counts: TextCounts) -> str:
    value = next((message[key] for key in _CONTENT_KEYS if message.get(key) is not None), "")
    if type(value) is list:
        value = "\n".join(_parts(value, place))
    if type(value) is not str:
        raise RefusedError("wrong_type", f"{place}.content: expected text, found {type_name(value)}")
    calls = list(_tool_calls(message.get("tool_calls") or (), place, counts))
    return "\n\n".join([value, *calls] if value else calls)


def _parts(parts: list[Any], place: str) -> Iterator[str]:
    for part in parts:
        text = part if type(part) is str else part.get("text") if type(part) is dict else None
        if type(text) is not str:
            raise RefusedError("wrong_type", f"{place}.content: a part that is not text")
        yield text


def _tool_calls(calls: Any, place: str, counts: TextCounts) -> Iterator[str]:
    """Shell calls become the fenced command they stand for, other calls a fenced JSON object."""
    if type(calls) not in (list, tuple):
        raise RefusedError("wrong_type", f"{place}.tool_calls: expected array, found {type_name(calls)}")
    for call in calls:
        function = call.get("function", call) if type(call) is dict else None
        if type(function) is not dict:
            raise RefusedError("wrong_type", f"{place}.tool_calls: expected objects")
        arguments = function.get("arguments")
        if type(arguments) is str:
            # Arguments that are no sound JSON stay the text they are.
            with contextlib.suppress(RefusedError):
                arguments = parse(arguments.encode("utf-8"), counts)
        name, command = function.get("name"), None
        if type(name) is str and name in _SHELL_TOOLS and type(arguments) is dict:
            command = arguments.get("command", arguments.get("cmd"))
        if type(command) is str:
            yield f"```bash\n{command}\n```"
        else:
            yield f"```json\n{dump({'name': name, 'arguments': arguments})}\n```"
