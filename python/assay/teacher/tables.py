"""Parquet files of the teacher steps: one an artifact, whole or not at all, and an empty one with the schema."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

EMPTY_FILE = "empty.parquet"

REFERENCE_FACTS = pa.schema(
    [
        ("artifact_id", pa.string()),
        ("line", pa.int64()),
        ("turn_id", pa.string()),
        ("reference_index", pa.int64()),
        ("dialect", pa.string()),
        ("first_token", pa.string()),
        ("action_key", pa.string()),
        ("norm_key", pa.string()),
        ("content_key", pa.string()),
    ]
)
DUEL_MARGINS = pa.schema(
    [
        ("artifact_id", pa.string()),
        ("line", pa.int64()),
        ("tau", pa.float64()),
        ("n_paired_turns", pa.int64()),
        ("margin", pa.float64()),
        ("se", pa.float64()),
        ("z", pa.float64()),
    ]
)
DUEL_GATES = pa.schema(
    [
        ("artifact_id", pa.string()),
        ("line", pa.int64()),
        ("unknown_reason", pa.string()),
        ("median_thought_chars", pa.float64()),
        ("causality_pass_rate", pa.float64()),
        ("n_king_thoughts", pa.int64()),
        ("king_common_ending", pa.string()),
        ("king_common_ending_share", pa.float64()),
        ("n_challenger_thoughts", pa.int64()),
        ("challenger_common_ending", pa.string()),
        ("challenger_common_ending_share", pa.float64()),
    ]
)
REPAIRED = pa.schema(
    [
        ("corpus_epoch", pa.int64()),
        ("turn_id", pa.string()),
        ("thought", pa.string()),
        ("action", pa.string()),
        ("completion", pa.string()),
        ("clean_flags", pa.list_(pa.string())),
        ("n_thought_chars", pa.int64()),
        ("is_blank", pa.bool_()),
        ("has_environment_turn", pa.bool_()),
        ("shell_valid", pa.bool_()),
        ("shell_checked_by", pa.string()),
        ("shell_fault", pa.string()),
        ("round_trips", pa.bool_()),
        ("completion_key", pa.string()),
    ]
)
PROMPTS = pa.schema(
    [
        ("corpus_epoch", pa.int64()),
        ("turn_id", pa.string()),
        ("prompt", pa.string()),
        ("prompt_key", pa.string()),
        ("n_prompt_chars", pa.int64()),
        ("n_counted_prefix_chars", pa.int64()),
        ("stratum", pa.string()),
        ("fault", pa.string()),
    ]
)
TOKENS = pa.schema(
    [("corpus_epoch", pa.int64()), ("turn_id", pa.string()), ("n_prefix_tokens", pa.int64()), ("fault", pa.string())]
)

# Names below the landing folder, and the views over them.
OUTPUTS = {
    "teacher_reference_facts": REFERENCE_FACTS,
    "teacher_duel_margins": DUEL_MARGINS,
    "teacher_duel_gates": DUEL_GATES,
    "teacher_repaired": REPAIRED,
    "teacher_prompts": PROMPTS,
    "teacher_prompt_tokens": TOKENS,
}


class Writer:
    """One parquet file of a table below a folder; it gets its name when it is closed whole."""

    def __init__(self, folder: Path, table: str, stem: str) -> None:
        """The file is `folder/<table>/<stem>.parquet`; `table` is a key of `OUTPUTS`."""
        self.path = folder / table / f"{stem}.parquet"
        self.part = self.path.with_suffix(".part")
        self.schema = OUTPUTS[table]
        self.writer: pq.ParquetWriter | None = None

    def write(self, rows: list[tuple[Any, ...]]) -> None:
        """Append rows, each a tuple in the order of the schema."""
        columns = list(zip(*rows, strict=True)) if rows else [()] * len(self.schema)
        arrays = [pa.array(column, field.type) for column, field in zip(columns, self.schema, strict=True)]
        if self.writer is None:
            self.writer = pq.ParquetWriter(self.part, self.schema, compression="zstd", compression_level=1)
        self.writer.write_batch(pa.record_batch(arrays, schema=self.schema))

    def close(self) -> None:
        """End the file and give it its name; without a row there is a file all the same."""
        if self.writer is None:
            self.write([])
        assert self.writer is not None
        self.writer.close()
        os.replace(self.part, self.path)

    def abandon(self) -> None:
        """Drop what was written."""
        if self.writer is not None:
            self.writer.close()
        self.part.unlink(missing_ok=True)


def prepare(landing: Path, tables: Iterable[str]) -> None:
    """Make the tables' folders, each with an empty file that carries its schema."""
    for table in tables:
        (landing / table).mkdir(parents=True, exist_ok=True)
        pq.write_table(OUTPUTS[table].empty_table(), landing / table / EMPTY_FILE)


def keep_only(landing: Path, tables: Iterable[str], stems: Iterable[str]) -> None:
    """Delete the files of artifacts that are gone, and what an interrupted run left."""
    wanted = {f"{stem}.parquet" for stem in stems} | {EMPTY_FILE}
    for table in tables:
        for path in (landing / table).iterdir():
            if path.name not in wanted:
                path.unlink()


def stamp(*paths: Path) -> list[Any]:
    """Sizes and times of files; a file that is absent counts as such."""
    values: list[Any] = []
    for path in paths:
        status = path.stat() if path.exists() else None
        values += [None, None] if status is None else [status.st_size, status.st_mtime_ns]
    return values


def landed_files(landing: Path, table: str) -> Iterator[Path]:
    """The files of a landed table that hold rows, in order of their names."""
    for path in sorted((landing / table).glob("*.parquet")):
        if path.name != EMPTY_FILE:
            yield path


def artifact_of(path: Path) -> str:
    """The artifact a landed file came from: the same in every row."""
    first = next(pq.ParquetFile(path).iter_batches(batch_size=1, columns=["artifact_id"]))
    return str(first.column(0)[0].as_py())
