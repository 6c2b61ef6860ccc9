"""One artifact from its bytes to its parquet files and its row of `artifacts`."""

import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from assay.landing.faults import RefusedError
from assay.landing.json_text import TextCounts, clean, decode, dump, parse_object
from assay.landing.kinds import Facts, Kind
from assay.landing.lines import ByteSource, Line, LineReader, read_document
from assay.landing.looks import refuse_foreign
from assay.landing.rows import Rows
from assay.landing.safetensors_header import read_header
from assay.landing.sources.conversations import READ_COLUMNS
from assay.landing.sources.sn120 import TURN_INDEX_FIELDS
from assay.landing.tables import ARTIFACTS
from assay.steps.runner import Write

PARQUET_BATCH_ROWS = 256
PARQUET_BATCH_BYTES = 32 << 20
"""Rows of a parquet file that are read together: so many, or as many as their average size allows."""

MAX_REFUSED_LINES = 100_000
"""Refused lines of one file that are listed: with so many the file is not what its name says."""

LINK_OUT = "link_out_of_raw_root"
"""The status of a link that is not followed."""


@dataclass(frozen=True)
class Artifact:
    """A file of the raw tree: its path below the root, what it is (None: not recognised), size and time.

    `stamp` tells its content from any other it may have; `is_link_out` says that it is a link that leads out of the raw
    root, which is listed and not read.
    """

    artifact_id: str
    path: Path
    source: str
    kind: Kind | None
    facts: Facts
    size: int
    mtime_ns: int
    stamp: list[Any]
    is_link_out: bool = False

    @property
    def key(self) -> str:
        """The name of the artifact's parquet files."""
        return artifact_key(self.artifact_id)

    @property
    def name(self) -> str:
        """What a message calls it."""
        return str(self.path)


def artifact_key(artifact_id: str) -> str:
    """The name of an artifact's parquet files: safe, short, the same on every machine."""
    return hashlib.sha256(artifact_id.encode()).hexdigest()[:32]


@dataclass(frozen=True)
class Landed:
    """What landing one artifact gave: its row of `artifacts`, refused lines a reason."""

    row: dict[str, Any]
    reasons: dict[str, int]


def land(artifact: Artifact, write: Write, max_line_bytes: int) -> Landed:
    """Read one file whole and write its rows; `OSError` passes through."""
    if artifact.is_link_out:
        return Landed(_link_row(artifact), {})
    kind = artifact.kind
    source = ByteSource(artifact.path)
    if kind is None or kind.reader == "hash_only":
        _read_through(source)
        return Landed(_artifact_row(artifact, source, "unrecognised" if kind is None else "listed"), {})
    rows = Rows(artifact.source, artifact.artifact_id, kind.tables, write)
    n_lines, n_blank_lines = _READERS[kind.reader](artifact, source, rows, max_line_bytes)
    rows.flush()
    row = _artifact_row(artifact, source, "read" if n_lines else "empty", n_lines, n_blank_lines, rows)
    return Landed(row, dict(sorted(rows.reasons.items())))


def _link_row(artifact: Artifact) -> dict[str, Any]:
    """A link's own bytes are the path it names."""
    target = os.fsencode(artifact.path.readlink())
    sha256 = hashlib.sha256(target).hexdigest()
    return {
        **dict.fromkeys(ARTIFACTS.names),
        "artifact_id": artifact.artifact_id,
        "source": artifact.source,
        "status": LINK_OUT,
        "bytes": len(target),
        "mtime": artifact.mtime_ns // 1000,
        "sha256": sha256,
        "content_sha256": sha256,
        "compression": "none",
    }


def _artifact_row(
    artifact: Artifact,
    source: ByteSource,
    status: str,
    n_lines: int | None = None,
    n_blank_lines: int | None = None,
    rows: Rows | None = None,
) -> dict[str, Any]:
    return {
        "artifact_id": artifact.artifact_id,
        "source": artifact.source,
        "kind": artifact.kind.name if artifact.kind else None,
        "status": status,
        "bytes": source.size,
        "mtime": artifact.mtime_ns // 1000,
        "sha256": source.sha256,
        "content_sha256": source.content_sha256,
        "compression": source.compression,
        "n_lines": n_lines,
        "n_blank_lines": n_blank_lines,
        "n_rows": rows.n_rows if rows else None,
        "n_quarantined": rows.reasons.total() if rows else None,
        "n_skipped": rows.skipped.total() if rows else None,
        "skipped_reasons": dump(dict(sorted(rows.skipped.items())) or None) if rows else None,
        "n_surrogates_replaced": rows.counts.surrogates_replaced if rows else None,
        "n_nul_characters": rows.counts.nul_characters if rows else None,
    }


def _json_lines(artifact: Artifact, source: ByteSource, rows: Rows, max_line_bytes: int) -> tuple[int, int]:
    def take(line: Line) -> None:
        rows.take(line, lambda: _extract(artifact, parse_object(line.data, rows.counts), rows))

    return _lines(LineReader(source, max_line_bytes), rows, take, is_json_lines=True)


def _text_lines(artifact: Artifact, source: ByteSource, rows: Rows, max_line_bytes: int) -> tuple[int, int]:
    def take(line: Line) -> None:
        rows.counts.nul_characters += line.data.count(b"\0") if line.fault is None else 0
        rows.take(line, lambda: _extract(artifact, decode(line.data, rows.counts), rows))

    return _lines(LineReader(source, max_line_bytes), rows, take, is_json_lines=False)


def _lines(reader: LineReader, rows: Rows, take: Callable[[Line], None], is_json_lines: bool) -> tuple[int, int]:
    """Hand over line by line: not those of a file that is something else, nor those after very many refused ones."""
    beginning = reader.beginning()
    try:
        refuse_foreign(beginning, is_json_lines)
    except RefusedError as fault:
        rows.refuse(Line(1, 0, beginning), fault)
        reader.refuse_rest()
        return 1, 0
    for line in reader:
        if rows.reasons.total() >= MAX_REFUSED_LINES:
            rows.refuse(line, RefusedError("too_many_refused", f"{MAX_REFUSED_LINES} lines before this one"))
            reader.refuse_rest()
            break
        take(line)
    return reader.n_lines, reader.n_blank_lines


def _json_document(artifact: Artifact, source: ByteSource, rows: Rows, max_line_bytes: int) -> tuple[int, int]:
    line = read_document(source, max_line_bytes)

    def extract() -> None:
        refuse_foreign(line.data, is_json_lines=False)
        _extract(artifact, parse_object(line.data, rows.counts), rows)

    rows.take(line, extract)
    return 1, 0


def _parquet(artifact: Artifact, source: ByteSource, rows: Rows, max_line_bytes: int) -> tuple[int, int]:
    _read_through(source)
    number = 0
    try:
        for batch, n_bytes in _batches(artifact):
            is_small = n_bytes <= max_line_bytes
            for index in range(batch.num_rows):
                number += 1
                row = batch.slice(index, 1)
                fault = None if is_small else _too_long(row, max_line_bytes)
                rows.take(
                    Line(number, 0, b"", fault),
                    lambda: _extract(artifact, _parquet_row(row, rows.counts), rows),  # noqa: B023
                )
                if not is_small:
                    rows.flush()
            rows.flush()
    except RefusedError as fault:
        number += 1
        rows.refuse(Line(number, 0, b""), fault)
    return number, 0


def _too_long(row: pa.RecordBatch, max_bytes: int) -> RefusedError | None:
    n_bytes = _expanded_bytes(row)
    return RefusedError("line_too_long", f"{n_bytes} bytes") if n_bytes > max_bytes else None


def _expanded_bytes(values: pa.RecordBatch | pa.Array) -> int:
    """Bytes of all texts with each repeated one counted every time: what the rows would take as Python values."""
    if isinstance(values, pa.RecordBatch):
        return sum(map(_expanded_bytes, values.columns))
    kind = values.type
    if pa.types.is_dictionary(kind):
        return pc.sum(pc.binary_length(values.dictionary).take(values.indices)).as_py() or 0
    if pa.types.is_struct(kind):
        return sum(map(_expanded_bytes, values.flatten()))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _expanded_bytes(values.flatten())
    return int(values.nbytes)


def _batches(artifact: Artifact) -> Iterator[tuple[pa.RecordBatch, int]]:
    """The file's batches, each with its bytes, up to the first fault of the library, which becomes a `RefusedError`.

    Texts stay as the file holds them, each once where it is repeated: a small file may expand a millionfold.
    """
    wanted = _PARQUET_COLUMNS[artifact.source]
    try:
        # Opened here, since a name that is not UTF-8 cannot be handed on.
        with artifact.path.open("rb") as handle:
            metadata = pq.read_metadata(handle)
            leaves = [metadata.schema.column(index) for index in range(metadata.num_columns)]
            texts = [leaf.path for leaf in leaves if leaf.path.split(".")[0] in wanted and _is_text(leaf)]
            with pq.ParquetFile(handle, metadata=metadata, read_dictionary=texts, pre_buffer=False) as file:
                columns = [name for name in file.schema_arrow.names if name in wanted]
                for number in range(metadata.num_row_groups):
                    group = metadata.row_group(number)
                    # Of all its columns: what a damaged footer says of one of them is not safe to ask for.
                    fitting = PARQUET_BATCH_BYTES * group.num_rows // (group.total_byte_size or PARQUET_BATCH_BYTES)
                    n_rows = max(1, min(PARQUET_BATCH_ROWS, fitting))
                    for batch in file.iter_batches(batch_size=n_rows, row_groups=[number], columns=columns):
                        yield batch, _expanded_bytes(batch)
    except _PARQUET_FAULTS as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise RefusedError("invalid_parquet", str(error).partition("\n")[0]) from None


def _is_text(leaf: pq.ColumnSchema) -> bool:
    return leaf.physical_type == "BYTE_ARRAY" and leaf.logical_type.type in ("STRING", "NONE")


# A damaged footer comes out as nearly any of python's own faults too, for example a column name that is not UTF-8.
_PARQUET_FAULTS = (pa.ArrowException, OSError, ValueError, LookupError, TypeError, ArithmeticError, RecursionError)


def _parquet_row(single: pa.RecordBatch, counts: TextCounts) -> dict[str, Any]:
    try:
        # A file without any column of ours still has rows.
        row: dict[str, Any] = single.to_pylist()[0] if single.num_columns else {}
        return {name: clean(value, counts) for name, value in row.items()}
    except UnicodeDecodeError:
        raise RefusedError("invalid_utf8") from None
    except RecursionError:
        raise RefusedError("nested_too_deeply") from None
    except (ValueError, OverflowError) as error:
        # A struct that names a field twice, a date that no calendar holds.
        raise RefusedError("wrong_type", str(error).partition("\n")[0]) from None


def _safetensors(artifact: Artifact, source: ByteSource, rows: Rows, max_line_bytes: int) -> tuple[int, int]:
    _read_through(source)

    def extract() -> None:
        with artifact.path.open("rb") as file:
            _extract(artifact, read_header(file, source.size), rows)

    rows.take(Line(1, 0, b""), extract)
    return 1, 0


def _read_through(source: ByteSource) -> None:
    """Hash a file whose reader needs to seek in it."""
    for _ in source.chunks():
        pass


def _extract(artifact: Artifact, record: Any, rows: Rows) -> None:
    assert artifact.kind is not None and artifact.kind.extract is not None
    artifact.kind.extract(record, artifact.facts, rows)


_PARQUET_COLUMNS = {"mini_coder": frozenset(READ_COLUMNS), "sn120": frozenset(TURN_INDEX_FIELDS)}

_READERS = {
    "json_lines": _json_lines,
    "text_lines": _text_lines,
    "json_document": _json_document,
    "parquet": _parquet,
    "safetensors": _safetensors,
}
