"""Rows of one artifact on their way to parquet: checked column by column, refused line by line."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pyarrow as pa

from assay.landing.faults import RefusedError
from assay.landing.json_text import TextCounts, type_name
from assay.landing.lines import Line
from assay.landing.tables import ARROW_TYPES, QUARANTINE, TABLES, Column, Table
from assay.steps.runner import Write

FLUSH_BYTES = 8 << 20
"""Raw bytes gathered before a row group is written; bounds memory and keeps every string array far below 2 GiB."""

FLUSH_LINES = 50_000
"""Lines gathered before a row group is written: bounds memory where lines are tiny."""

SLICE_ROWS = 32_768
"""Rows of one Arrow batch: with identifiers of bounded length no column of it comes near 2 GiB."""

EXCERPT_CHARACTERS = 200
DETAIL_CHARACTERS = 300
QUARANTINE_TABLE = "quarantine"

LONG_TEXT = frozenset(
    "action answer challenger_output content explanation king_output other_fields prompt question_source "
    "reference_turn response text thought tool_calls verdict".split()
)
"""Columns whose values rarely repeat and may be long: a dictionary or statistics of them would only cost."""


class Rows:
    """Collects rows of one artifact, validates them by column and writes them a table, quarantine included.

    `emit` takes a row without its two key columns; `artifact_id` and `line` are added here. A line either lands
    in all its tables or in none: whatever is refused takes back every row its line has emitted.
    """

    def __init__(self, source: str, artifact_id: str, table_names: Sequence[str], write: Write) -> None:
        """`write` takes (table, batch); the first table is the primary one."""
        self.source = source
        self.artifact_id = artifact_id
        self.primary = table_names[0]
        self.counts = TextCounts()
        self.n_rows = 0
        self.reasons: Counter[str] = Counter()
        self.skipped: Counter[str] = Counter()
        self._write = write
        self._quarantine: list[dict[str, Any]] = []
        self._rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in table_names}
        self._skips: list[tuple[int, str]] = []
        self._lines: dict[int, Line] = {}
        self._bytes = 0
        self._n_lines = 0
        self._line = 0
        self.line_bytes = 0

    def emit(self, table_name: str, *values: Any) -> None:
        """Add a row of the current line; values stand in the order of the table's columns after the keys."""
        self._rows[table_name].append((self._line, *values))

    def emit_all(self, table_name: str, rows: Iterable[tuple[Any, ...]]) -> None:
        """Add rows of the current line."""
        number = (self._line,)
        self._rows[table_name] += [number + row for row in rows]

    def skip(self, reason: str) -> None:
        """Count a part of the current line that is not read, by reason; a line that is refused takes it back."""
        self._skips.append((self._line, reason))

    def refuse(self, line: Line, fault: RefusedError) -> None:
        """Put a line into the quarantine."""
        text = line.data[: 4 * EXCERPT_CHARACTERS].decode("utf-8", "replace")
        self.reasons[fault.reason] += 1
        self._quarantine.append(
            {
                "source": self.source,
                "artifact_id": self.artifact_id,
                "file": self.artifact_id,
                "line": line.number,
                "byte_offset": line.byte_offset,
                "reason": fault.reason,
                "detail": fault.detail[:DETAIL_CHARACTERS] or None,
                "excerpt": text[:EXCERPT_CHARACTERS],
            }
        )

    def take(self, line: Line, extract: Callable[[], None]) -> None:
        """Let `extract` emit the rows of one line; a `RefusedError` takes them back and quarantines the line."""
        if line.fault is None:
            self._take(line, extract)
        else:
            self.refuse(line, line.fault)
        self._bytes += len(line.data)
        self._n_lines += 1
        if self._bytes >= FLUSH_BYTES or self._n_lines >= FLUSH_LINES:
            self.flush()

    def _take(self, line: Line, extract: Callable[[], None]) -> None:
        before = {name: len(rows) for name, rows in self._rows.items()}
        n_skips = len(self._skips)
        self._line = line.number
        self.line_bytes = len(line.data)
        # Only the beginning is needed later, should a column check refuse the line.
        self._lines[line.number] = Line(line.number, line.byte_offset, line.data[: 4 * EXCERPT_CHARACTERS])
        try:
            extract()
        except RefusedError as fault:
            for name, length in before.items():
                del self._rows[name][length:]
            del self._skips[n_skips:]
            self.refuse(line, fault)

    def flush(self) -> None:
        """Check and write what has been gathered."""
        refused: dict[int, RefusedError] = {}
        for name, rows in self._rows.items():
            _check(TABLES[name], rows, refused)
        for number in sorted(refused):
            self.refuse(self._lines[number], refused[number])
        for name, rows in self._rows.items():
            kept = [row for row in rows if row[0] not in refused] if refused else rows
            for start in range(0, len(kept), SLICE_ROWS):
                self._write(name, _batch(TABLES[name], self.artifact_id, kept[start : start + SLICE_ROWS]))
            if name == self.primary:
                self.n_rows += len(kept)
            rows.clear()
        self.skipped.update(reason for line, reason in self._skips if line not in refused)
        self._skips.clear()
        if self._quarantine:
            # Later lines come in a later batch, so the whole file is in line order.
            self._quarantine.sort(key=lambda row: row["line"])
            self._write(QUARANTINE_TABLE, pa.RecordBatch.from_pylist(self._quarantine, QUARANTINE))
            self._quarantine.clear()
        self._lines.clear()
        self._bytes = 0
        self._n_lines = 0


def _batch(table: Table, artifact_id: str, rows: list[tuple[Any, ...]]) -> pa.RecordBatch:
    columns = zip(table.columns[1:], zip(*rows, strict=True), strict=True)
    keys = pa.repeat(pa.scalar(artifact_id, pa.string()), len(rows))
    return pa.record_batch([keys, *(_array(column, values) for column, values in columns)], schema=table.schema)


def _array(column: Column, values: Sequence[Any]) -> pa.Array:
    if column.type == "double" and int in map(type, values):
        # Arrow takes whole numbers up to 2^53 alone for doubles; the other way round it takes all that were checked.
        values = [None if value is None else float(value) for value in values]
    return pa.array(values, ARROW_TYPES[column.type])


_ALLOWED: dict[str, frozenset[type]] = {
    "text": frozenset({str}),
    "json": frozenset({str}),
    "integer": frozenset({int, float}),
    "unsigned": frozenset({int, float}),
    "double": frozenset({float, int}),
    "boolean": frozenset({bool}),
    "text[]": frozenset({list}),
    "calls": frozenset({list}),
}

_RANGES = {"integer": (-(2**63), 2**63 - 1), "unsigned": (0, 2**64 - 1)}


def _check(table: Table, rows: list[tuple[Any, ...]], refused: dict[int, RefusedError]) -> None:
    """Find the lines of which a value does not have its column's type; the first fault of a line is kept.

    The usual case is one pass over the types of a column in C; only a column that holds something else is
    looked at value by value.
    """
    if not rows:
        return
    for column, values in zip(table.columns[1:], zip(*rows, strict=True), strict=True):
        types = set(map(type, values))
        if not column.required:
            types.discard(type(None))
        suspicious = not types <= _ALLOWED[column.type] or column.type == "text[]"
        if not suspicious and column.type in _RANGES:
            present = [value for value in values if value is not None]
            low, high = _RANGES[column.type]
            suspicious = float in types or (bool(present) and not low <= min(present) <= max(present) <= high)
        elif not suspicious and column.type == "double" and types:
            suspicious = int in types or not all(map(math.isfinite, filter(None, values)))
        if suspicious:
            for row, value in zip(rows, values, strict=True):
                fault = _fault(table, column, value)
                if fault is not None:
                    refused.setdefault(row[0], fault)


def _fault(table: Table, column: Column, value: Any) -> RefusedError | None:
    place = f"{table.name}.{column.name}"
    if value is None:
        return RefusedError("missing_field", place) if column.required else None
    if type(value) not in _ALLOWED[column.type]:
        return RefusedError("wrong_type", f"{place}: expected {column.type}, found {type_name(value)}")
    if column.type in _RANGES:
        low, high = _RANGES[column.type]
        # Above 2^53 a number with a point or an exponent no longer tells which whole number was meant.
        if type(value) is float and not (value.is_integer() and abs(value) <= 2**53):
            return RefusedError("wrong_type", f"{place}: expected {column.type}, found {value!r}")
        if not low <= value <= high:
            return RefusedError("number_out_of_range", f"{place}: {str(value)[:40]}")
    elif column.type == "double":
        try:
            finite = math.isfinite(value)
        except OverflowError:
            return RefusedError("number_out_of_range", f"{place}: {str(value)[:40]}")
        if not finite:
            return RefusedError("non_finite_number", f"{place}: {value!r}")
    elif column.type == "text[]" and not set(map(type, value)) <= {str}:
        return RefusedError("wrong_type", f"{place}: expected an array of text")
    return None
