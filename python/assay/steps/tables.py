"""Tables as folders of parquet files: one file an artifact with rows, and an empty one that carries the schema."""

import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from assay.steps.writing import part_of, parts_in, put_in_place, sweep, whole, writing

EMPTY_FILE = "empty.parquet"
SUMMARY_FILE = "all.parquet"
"""The one file of a table that is written as a whole."""

_TINY_BYTES = 1 << 16
"""A file of one batch of less is written plainly: dictionaries, statistics and compression would cost it more, in
time and in bytes, than its rows."""
_MAGIC = b"PAR1"


@dataclass(frozen=True)
class Output:
    """A table that a step fills; `long` names columns of long text that rarely repeats: statistics would only cost."""

    schema: pa.Schema
    long: frozenset[str] = frozenset()


Outputs = Mapping[str, Output]


def batch_of(schema: pa.Schema, rows: Sequence[tuple[Any, ...]]) -> pa.RecordBatch:
    """Rows as a batch, each a tuple in the order of the schema."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(schema)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.record_batch(arrays, schema=schema)


def prepare(folder: Path, outputs: Outputs) -> None:
    """Make the tables' folders with their empty files, and remove parts that a killed process left there."""
    with writing(folder):
        for name, output in outputs.items():
            (folder / name).mkdir(parents=True, exist_ok=True)
            sweep(parts_in(folder / name))
            if not _has_schema(folder / name / EMPTY_FILE, output.schema):
                write_table(folder / name / EMPTY_FILE, output.schema.empty_table())


def _has_schema(path: Path, schema: pa.Schema) -> bool:
    with contextlib.suppress(FileNotFoundError, pa.ArrowException):
        return bool(pq.read_schema(path) == schema)
    return False


def write_table(path: Path, table: pa.Table) -> None:
    """Write a file of one table, whole or not at all."""
    with whole(path) as parts:
        pq.write_table(table, parts[0], compression="zstd", compression_level=1)


def keep_only(folder: Path, outputs: Outputs, files: set[Path]) -> None:
    """Remove files of our naming that are not among `files`; anything else in the folders stays."""
    with writing(folder):
        for name in outputs:
            for path in (folder / name).iterdir():
                if path.suffix == ".parquet" and path.name != EMPTY_FILE and path not in files:
                    path.unlink()


def files_of(folder: Path, table: str) -> list[Path]:
    """The files of a table that hold rows, in order of their names."""
    return sorted(path for path in (folder / table).glob("*.parquet") if path.name != EMPTY_FILE)


def is_sound(path: Path, size: int) -> bool:
    """Whether a parquet file is there with this size and with the marks at both of its ends."""
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size != size or file.read(len(_MAGIC)) != _MAGIC:
                return False
            file.seek(-len(_MAGIC), os.SEEK_END)
            return file.read() == _MAGIC
    except OSError:
        return False


class TableFiles:
    """The files of one artifact, `folder/<table>/<stem>.parquet`: when the block ends well, all have their names.

    A table without a batch gets no file, and one from before stays until `keep_only`. `sizes` are bytes by table.
    """

    def __init__(self, folder: Path, outputs: Outputs, stem: str) -> None:
        """Nothing is opened before there is a second batch, or the end."""
        self._folder, self._outputs, self._stem = folder, outputs, stem
        self._files: dict[str, _File] = {}
        self.sizes: dict[str, int] = {}

    def write(self, table: str, batch: pa.RecordBatch) -> None:
        """Append a batch to the file of a table."""
        if table not in self._files:
            self._files[table] = _File(self._folder / table / f"{self._stem}.parquet", self._outputs[table])
        with writing(self._folder):
            self._files[table].write(batch)

    def __enter__(self) -> "TableFiles":
        """Nothing to prepare."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the files and give them their names, or drop what was written."""
        try:
            if error is None:
                with writing(self._folder):
                    for file in self._files.values():
                        file.end()
                    self.sizes = {name: file.put_in_place() for name, file in self._files.items()}
        finally:
            for file in self._files.values():
                file.drop()


class _File:
    """One parquet file on its way."""

    def __init__(self, path: Path, output: Output) -> None:
        self._path = path
        self._output = output
        self._first: pa.RecordBatch | None = None
        self._file: pa.NativeFile | None = None
        self._writer: pq.ParquetWriter | None = None
        self._is_tiny = False

    def write(self, batch: pa.RecordBatch) -> None:
        if self._writer is not None:
            self._writer.write_batch(batch)
        elif self._first is None:
            # Held back: only with the next batch, or the end, is it known whether the file is tiny.
            self._first = batch
        else:
            self._open(is_tiny=False).write_batch(batch)

    def _open(self, is_tiny: bool) -> pq.ParquetWriter:
        self._file = pa.OSFile(str(part_of(self._path)), "wb")
        short = [name for name in self._output.schema.names if name not in self._output.long]
        self._writer = pq.ParquetWriter(
            self._file,
            self._output.schema,
            compression="none" if is_tiny else "zstd",
            compression_level=None if is_tiny else 1,
            use_dictionary=False if is_tiny else short,
            write_statistics=False if is_tiny else short,
        )
        self._writer.write_batch(self._first)
        self._first = None
        return self._writer

    def end(self) -> None:
        """Write what is held back and close the part."""
        if self._first is not None:
            self._is_tiny = self._first.nbytes < _TINY_BYTES
            self._open(self._is_tiny)
        if self._writer is not None and self._file is not None:
            self._writer.close()
            self._file.close()

    def put_in_place(self) -> int:
        """Give the file its name and return its size."""
        # Of a file of a few blocks, size and marks say in the next run whether a power cut took them; to wait for the
        # disk would be half of the work on many small artifacts.
        put_in_place(part_of(self._path), self._path, waits=not self._is_tiny)
        return self._path.stat().st_size

    def drop(self) -> None:
        """Remove what has no name yet."""
        # On a full disk closing fails too, and would be tried again later; the part goes all the same.
        for opened in (self._writer, self._file):
            with contextlib.suppress(OSError, pa.ArrowException):
                if opened is not None:
                    opened.close()
        if self._writer is not None:
            self._writer.is_open = False
        if self._file is not None:
            sweep([part_of(self._path)])
