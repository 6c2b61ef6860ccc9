"""Small readers for parts of a parsed record; each refuses a part that does not have its shape."""

from collections.abc import Iterable, Iterator, Set
from typing import Any

from assay.landing.faults import RefusedError
from assay.landing.json_text import dump, type_name

MAX_IDENTITY_CHARACTERS = 2000
"""An identifier is repeated in every row below its record: unbounded, one line could ask for terabytes."""


def others(
    record: dict[str, Any], known: Set[str], parts: Iterable[tuple[str, dict[str, Any], Set[str]]] = ()
) -> str | None:
    """What a record carries beyond the known keys, as JSON; None when there is nothing.

    `parts` are objects inside the record whose known keys have columns too: (name, object, its known keys). What
    else they carry stands under their name.
    """
    extra = {} if record.keys() <= known else {key: value for key, value in record.items() if key not in known}
    for name, part, known_there in parts:
        if not part.keys() <= known_there:
            extra[name] = {key: value for key, value in part.items() if key not in known_there}
    return dump(extra or None)


def array(record: dict[str, Any], key: str) -> list[Any] | None:
    """An array or null; a missing key reads as null."""
    value = record.get(key)
    if value is not None and type(value) is not list:
        raise RefusedError("wrong_type", f"{key}: expected array, found {type_name(value)}")
    return value


def objects(record: dict[str, Any], key: str) -> list[dict[str, Any]] | None:
    """An array of objects or null."""
    values = array(record, key)
    for index, value in enumerate(values or ()):
        if type(value) is not dict:
            raise RefusedError("wrong_type", f"{key}[{index}]: expected object, found {type_name(value)}")
    return values


def mapping(record: dict[str, Any], key: str) -> dict[str, Any]:
    """An object; null and a missing key read as an empty one."""
    value = record.get(key)
    if value is None:
        return {}
    if type(value) is not dict:
        raise RefusedError("wrong_type", f"{key}: expected object, found {type_name(value)}")
    return value


def text(record: dict[str, Any], key: str) -> str:
    """A text that identifies the record; null, missing or another type is refused."""
    value = record.get(key)
    if value is None:
        raise RefusedError("missing_field", key)
    if type(value) is not str:
        raise RefusedError("wrong_type", f"{key}: expected text, found {type_name(value)}")
    check_identity(value, key)
    return value


def check_identity(value: Any, place: str) -> None:
    """Refuse an identifier that is too long to be one."""
    if type(value) is str and len(value) > MAX_IDENTITY_CHARACTERS:
        raise RefusedError("wrong_type", f"{place}: expected an identifier, found a text of {len(value)} characters")


def pick(record: dict[str, Any], keys: tuple[str, ...]) -> Iterator[Any]:
    """The values of `keys` in their order, None where one is missing."""
    return map(record.get, keys)


def text_or_number(value: Any) -> Any:
    """An identifier that some write as a whole number, as text; anything else as it is."""
    return str(value) if type(value) is int else value


def boolean(value: Any) -> Any:
    """A truth that some write as 1 and 0 or in quotes, as a boolean; anything else as it is."""
    return _TRUTHS.get(str(value).lower(), value) if type(value) in (int, float, str) else value


_TRUTHS = {"1": True, "1.0": True, "true": True, "0": False, "0.0": False, "false": False}
