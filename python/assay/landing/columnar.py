"""Many JSON lines to columns at once, where nothing in them can be refused or repaired.

Long texts go from the file's bytes to Arrow without a Python object in between. Arrow's reader refuses what it was
not told to expect (another field, another type, a repeated key, a lone surrogate, a control character), which makes
it the proof as well: whatever is not proven here is read line by line, and only there it is said what is wrong.

Arrow's reader knows no objects with keys of any name. Records that hold such are read into declared types, which
refuses the same but for repeated keys and NUL characters; those are looked for in the text.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, repeat
from operator import is_
from types import MappingProxyType
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.json as pj
from msgspec import UNSET, UnsetType

from assay.landing.json_text import count_keys, count_written_keys, dump
from assay.landing.lines import Line
from assay.landing.rows import Columns
from assay.landing.tables import ARROW_TYPES

_MOST_BYTES = 1 << 30
"""More than this would come near the 2 GiB that one Arrow column of text may hold."""

_PORTION_BYTES = 1 << 20
"""Records take many times the memory of their lines: those of so many bytes are held at once."""

_ONE_VALUE = msgspec.json.Decoder(type=msgspec.Raw)


def read_lines(lines: Sequence[bytes], fields: pa.Schema) -> pa.RecordBatch | None:
    """One row a line with a column a field (null where a line lacks it), or None where the lines are not proven clean.

    Clean: every line is one JSON object that holds only these fields, none twice and each of its type, in valid
    UTF-8 without lone surrogates.
    """
    n_bytes = sum(map(len, lines))
    if n_bytes > _MOST_BYTES or not all(map(_is_one_object, lines)):
        return None
    try:
        table = pj.read_json(
            pa.BufferReader(b"\n".join(lines)),
            # A block that is longer than the text: rows are never cut, and come in order.
            pj.ReadOptions(use_threads=False, block_size=n_bytes + len(lines) + 1),
            pj.ParseOptions(explicit_schema=fields, unexpected_field_behavior="error"),
        )
        table.validate(full=True)
    except (pa.ArrowException, UnicodeDecodeError):
        return None
    if table.num_rows != len(lines):
        return None
    (batch,) = table.combine_chunks().to_batches()
    return batch


def record_type(
    name: str, required: Mapping[str, Any], optional: Mapping[str, str], inner: Mapping[str, Any] = MappingProxyType({})
) -> Any:
    """The type of a JSON object that has these keys and no others.

    `optional` maps keys to types of columns, `inner` maps keys to types of what is no column: any of them may be null
    or missing.
    """
    types = {**{key: _JSON_TYPES[kind] for key, kind in optional.items()}, **inner}
    fields = [(key, kind | None | UnsetType, UNSET) for key, kind in types.items()]
    return msgspec.defstruct(name, [*required.items(), *fields], forbid_unknown_fields=True, gc=False)


_JSON_TYPES: dict[str, Any] = {"text": str, "integer": int, "double": int | float, "boolean": bool, "json": Any}


class Places:
    """Where the elements of many lists stood: in the list of which owner, and there at which index from 0."""

    def __init__(self, n_elements: Sequence[int]) -> None:
        """`n_elements` is the length of every owner's list."""
        lengths = np.array(n_elements, np.int64)
        owners = np.repeat(np.arange(len(lengths)), lengths)
        self.index = pa.array(np.arange(len(owners)) - (np.cumsum(lengths) - lengths)[owners])
        self.owners = pa.array(owners)
        self.n_elements = pa.array(lengths)

    def repeat(self, columns: Iterable[pa.Array]) -> list[pa.Array]:
        """Columns of the owners, each value once an element."""
        return [column.take(self.owners) for column in columns]


def elements(lists: Sequence[list[Any] | None]) -> tuple[list[Any], Places]:
    """The elements of many lists, and where each stood."""
    present = [values or () for values in lists]
    return list(chain.from_iterable(present)), Places(list(map(len, present)))


class Taken:
    """Takes the fields of records column by column, and counts the keys they stood under.

    A record keeps one value a key, so fewer keys than its text shows are the sign of a repeated one.
    """

    def __init__(self) -> None:
        """Nothing is taken yet."""
        self.n_keys = 0
        self.documents: list[Any] = []
        self._dump: Callable[[Any], bytes | str | None] = msgspec.json.Encoder().encode

    def read_float(self, text: str) -> float:
        """Read a number with a point or an exponent that stands in a document."""
        number = float(text)
        if 1e-4 <= number < 1e16 or not number:
            return number
        if math.isinf(number):
            raise ValueError("a number that overflows to infinity")
        if not 1e-4 <= -number < 1e16:
            # Only such a number the two writers of JSON spell differently.
            self._dump = dump
        return number

    def fields(self, record: Any, records: Sequence[Any]) -> dict[str, list[Any]]:
        """Every field of records of one type as a list, None where it is missing."""
        columns = zip(*map(msgspec.structs.astuple, records), strict=True) if records else repeat(())
        return {field: self._present(values) for field, values in zip(record.__struct_fields__, columns, strict=False)}

    def _present(self, values: Sequence[Any]) -> list[Any]:
        n_missing = sum(map(is_, values, repeat(UNSET)))
        self.n_keys += len(values) - n_missing
        if n_missing == len(values):  # the usual case of a key of another era
            return [None] * n_missing
        return [None if value is UNSET else value for value in values] if n_missing else list(values)

    def columns(self, fields: Mapping[str, list[Any]], kinds: Mapping[str, str]) -> list[pa.Array]:
        """Fields as columns of their declared types."""
        return [self.column(fields[field], kind) for field, kind in kinds.items()]

    def column(self, values: list[Any], kind: str) -> pa.Array:
        """Values as a column of a declared type; documents are written as JSON, the keys inside are counted too."""
        if kind == "json" and values.count(None) < len(values):
            self.documents += values
            values = [None if value is None else self._dump(value) for value in values]
        return pa.array(values, ARROW_TYPES[kind])


Take = Callable[[Sequence[Line], list[Any], Taken], Columns | None]
"""Makes columns of some lines and their records; None where it cannot."""


def take_records(lines: Sequence[Line], record: Any, take: Take) -> Columns | None:
    """What `take` makes of the lines, part by part, or None where they are not proven clean or `take` gives None.

    Clean: every line is one JSON object of the type `record`, in valid UTF-8, without a repeated key, a lone
    surrogate or a NUL character. `take` gets some lines, their records, and that with which it is to take every field
    of every record once.
    """
    if sum(len(line.data) for line in lines) > _MOST_BYTES:
        return None
    parts: list[Columns] = []
    for some_lines in _portions(lines):
        part = _take_portion(some_lines, record, take)
        if part is None:
            return None
        parts.append(part)
    columns = {table: zip(*(part[table] for part in parts), strict=True) for table in parts[0]}
    return {table: [pa.concat_arrays(arrays) for arrays in of_table] for table, of_table in columns.items()}


def _portions(lines: Sequence[Line]) -> Iterator[list[Line]]:
    portion: list[Line] = []
    n_bytes = 0
    for line in lines:
        if n_bytes >= _PORTION_BYTES:
            yield portion
            portion, n_bytes = [], 0
        portion.append(line)
        n_bytes += len(line.data)
    yield portion


def _take_portion(lines: Sequence[Line], record: Any, take: Take) -> Columns | None:
    # To look through a text costs something whatever its length, and lines may be short.
    text = b"".join(line.data for line in lines)
    if b"\\u0000" in text:
        return None
    taken = Taken()
    decoder = msgspec.json.Decoder(record, float_hook=taken.read_float)
    try:
        columns = take(lines, [decoder.decode(line.data) for line in lines], taken)
        n_written = count_written_keys(text)
    except (msgspec.MsgspecError, pa.ArrowException, ValueError, OverflowError, RecursionError):
        return None
    # Where a document stands is not kept: each counts as deep as the deepest, one in a map in an element of a list.
    n_inside = count_keys([[[taken.documents]]])
    return columns if n_inside is not None and taken.n_keys + n_inside == n_written else None


def count_nul_characters(batch: pa.RecordBatch) -> int:
    """The NUL characters of all texts of a batch, inside lists and structs too."""
    return sum(map(_nul_characters, _texts(batch.columns)))


def _is_one_object(line: bytes) -> bool:
    """Arrow's reader takes several values a line, and does not survive a bare null."""
    if not line.startswith(b"{"):
        return False
    try:
        _ONE_VALUE.decode(line)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return False
    return True


def _texts(columns: Iterable[pa.Array]) -> Iterable[pa.Array]:
    for column in columns:
        if pa.types.is_string(column.type):
            yield column
        elif pa.types.is_list(column.type):
            yield from _texts([column.flatten()])
        elif pa.types.is_struct(column.type):
            yield from _texts(column.flatten())


def _nul_characters(texts: pa.Array) -> int:
    _, offsets, data = texts.buffers()
    if data is None or not len(texts):
        return 0
    bounds = np.frombuffer(offsets, np.int32, len(texts) + 1, 4 * texts.offset)
    characters = np.frombuffer(data, np.uint8)[bounds[0] : bounds[-1]]
    return len(characters) - int(np.count_nonzero(characters))
