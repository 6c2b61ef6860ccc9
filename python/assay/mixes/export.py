"""Mixes as files: every row's line is made beside its text, in a pool of processes, then lines are put in order.

Two passes, both in bounded memory. First, for every block of landed lines, the lines of the rows that are cut from it,
in a file of its own. Second, for every mix, those lines in export order: copied, hashed, and written as parquet too.
What a file holds depends on the rows alone, not on how many processes made it.
"""

import hashlib
import shutil
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow.parquet as pq

from assay.errors import AssayError
from assay.exporting import size_and_hash
from assay.mixes.pairs import PAIRS, write_pairs
from assay.mixes.rows import RowEncoder, RowFile, decoded, encoded, row_writer
from assay.mixes.texts import Block, Place, conversations
from assay.steps.pool import each
from assay.steps.progress import Progress
from assay.steps.writing import whole, writing

FOLDER = "mixes"
PARTS_FOLDER = ".parts"
AUDIT_FILE = "mask_audit.jsonl"
FINALS = ("final_v1", "final_v2")
SPLITS = ("train", "validation")
_TABLES = (".parquet", *(f".{split}.parquet" for split in SPLITS))
_OF_A_MIX, _OF_A_FINAL = (".jsonl", *_TABLES), (".jsonl", ".parquet")
# Work of less than about a second, which is what a pool takes to start.
_ALONE_ROWS, _ALONE_MEGABYTES = 2000, 50
_READ_BYTES = 8 << 20


@dataclass(frozen=True)
class ExportRow:
    """A row of a mix: its key and place in the mix, the landed messages it holds, and its metadata."""

    mix: str
    row_id: str
    order: int
    place: Place
    message_indexes: tuple[int, ...]
    meta: Mapping[str, Any]


@dataclass(frozen=True)
class Line:
    """Where the line of a row stands: its place in its mix, its file, offset and length in bytes."""

    mix: str
    order: int
    part: str
    offset: int
    length: int


@dataclass(frozen=True)
class Written:
    """A finished file: its name, size, SHA-256 (hex) and number of rows."""

    name: str
    n_bytes: int
    sha256: str
    n_rows: int


@dataclass(frozen=True)
class _BlockTask:
    landing: Path
    block: Block
    rows: tuple[ExportRow, ...]
    part: Path


@dataclass(frozen=True)
class _MixTask:
    name: str
    lines: tuple[Line, ...]
    parts: Path
    files: Mapping[str, Path]

    @property
    def size(self) -> int:
        return sum(line.length for line in self.lines)


@dataclass(frozen=True)
class _FinalTask:
    name: str
    mixes: tuple[Mapping[str, Path], ...]
    files: Mapping[str, Path]

    @property
    def size(self) -> int:
        return sum(files[".jsonl"].stat().st_size for files in self.mixes)


def pair_files() -> list[str]:
    """The files of the preference pairs."""
    return [f"{PAIRS}{ending}" for ending in _OF_A_MIX]


def file_names(mixes: Sequence[str]) -> list[str]:
    """The files of the mixes and the finals, in order; each is written even when it has no row.

    A final has no files by split: those of its mixes together are they.
    """
    of_mixes = [f"{mix}{ending}" for mix in mixes for ending in _OF_A_MIX]
    return [*of_mixes, *(f"{final}{ending}" for final in FINALS for ending in _OF_A_FINAL)]


def export_mixes(
    rows: Path,
    audit: Path,
    pairs: Path,
    landing: Path,
    exports: Path,
    mixes: Sequence[str],
    finals: Mapping[str, Sequence[str]],
    workers: int | None = None,
) -> list[Written]:
    """Write every mix, both finals and the pairs below `exports`/mixes, the audit beside them; all of them or none.

    `rows` is a parquet file with a row an exported row: mix, row_id, row_order, split, weight, n_tokens,
    n_trained_tokens, text_source, text_artifact_id, text_line, text_side, message_indexes (of landed messages), turns
    (of `rows.TURN`). `audit` is one with a line of `mask_audit.jsonl` a row, in order, `pairs` that of
    `pairs.write_pairs`. `mixes` are the mixes of the plan in its order, `finals` those that each final puts together.
    Raises AssayError when a file cannot be written or a text is gone.
    """
    folder = exports / FOLDER
    parts = folder / PARTS_FOLDER
    names = [*file_names(mixes), *pair_files(), AUDIT_FILE]
    with writing(exports):
        folder.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(parts, ignore_errors=True)
        parts.mkdir()
    try:
        blocks = [
            _BlockTask(landing, block, tuple(cut), parts / f"{block.stem}.jsonl")
            for block, cut in sorted(_blocks(rows).items())
        ]
        n_rows = sum(len(task.rows) for task in blocks)
        few = n_rows < _ALONE_ROWS
        lines: list[Line] = []
        with Progress("mixes, rows encoded", n_rows) as progress:
            blocks.sort(key=lambda task: (-len(task.rows), task.block))
            for task, made in each(blocks, _encode, workers, few, lambda task: task.block.artifact_id):
                lines += made
                progress.add(len(task.rows))
        lines.sort(key=lambda line: (line.mix, line.order))
        with writing(exports), whole(*(folder / name for name in names)) as new:
            paths = dict(zip(names, new, strict=True))
            files = {mix: {ending: paths[mix + ending] for ending in _OF_A_MIX} for mix in mixes}
            held = {mix: tuple(line for line in lines if line.mix == mix) for mix in mixes}
            tasks = [_MixTask(mix, held[mix], parts, files[mix]) for mix in mixes]
            tasks.sort(key=lambda task: (-task.size, task.name))
            n_megabytes = sum(task.size for task in tasks) // 1_000_000
            few = n_megabytes < _ALONE_MEGABYTES
            written: list[Written] = []
            with Progress("mixes, MB put in order", n_megabytes) as progress:
                for mix_task, made_files in each(tasks, _put_in_order, workers, few, lambda task: task.name):
                    written += made_files
                    progress.add(mix_task.size // 1_000_000)
            together = [
                _FinalTask(
                    final,
                    tuple(files[mix] for mix in mixes if mix in finals[final]),
                    {ending: paths[final + ending] for ending in _OF_A_FINAL},
                )
                for final in FINALS
            ]
            # Copying, hashing and compressing leave Python alone: threads are enough, and need no start.
            with ThreadPoolExecutor(min(workers or len(together), len(together))) as pool:
                for made_files in pool.map(_put_together, together):
                    written += made_files
            by_split = {split: paths[f"{PAIRS}.{split}.parquet"] for split in SPLITS}
            counts = write_pairs(pairs, landing, paths[f"{PAIRS}.jsonl"], paths[f"{PAIRS}.parquet"], by_split)
            named = {path: name for name, path in paths.items()}
            written += [Written(named[path], *size_and_hash(path), n_rows) for path, n_rows in counts.items()]
            written.append(_write_audit(audit, paths[AUDIT_FILE]))
    finally:
        shutil.rmtree(parts, ignore_errors=True)
    place = {name: number for number, name in enumerate(names)}
    return sorted(written, key=lambda file: place[file.name])


def _blocks(rows: Path) -> dict[Block, list[ExportRow]]:
    grouped: dict[Block, list[ExportRow]] = defaultdict(list)
    for batch in pq.ParquetFile(rows).iter_batches():
        for row in batch.to_pylist():
            block = Block.of(row["text_source"], row["text_artifact_id"], row["text_line"])
            meta = {name: row[name] for name in ("split", "weight", "n_tokens", "n_trained_tokens")}
            grouped[block].append(
                ExportRow(
                    mix=row["mix"],
                    row_id=row["row_id"],
                    order=row["row_order"],
                    place=block.place(row["text_line"], row["text_side"]),
                    message_indexes=tuple(row["message_indexes"]),
                    meta={**meta, "turns": row["turns"] or []},
                )
            )
    return grouped


def _encode(task: _BlockTask) -> list[Line]:
    cut: dict[Place, list[ExportRow]] = defaultdict(list)
    for row in task.rows:
        cut[row.place].append(row)
    lines: list[Line] = []
    offset = 0
    with writing(task.part.parent), task.part.open("wb", buffering=1 << 20) as part:
        for place, conversation in conversations(task.landing, task.block, cut):
            encoder = RowEncoder(conversation)
            for row in sorted(cut.pop(place), key=lambda row: (row.mix, row.order)):
                if any(index not in conversation for index in row.message_indexes):
                    raise AssayError(f"a message of row {row.row_id} is gone from the landed files: build again")
                line = encoder.line(row.row_id, row.mix, row.message_indexes, row.meta)
                part.write(line)
                lines.append(Line(row.mix, row.order, task.part.name, offset, len(line)))
                offset += len(line)
    if cut:
        gone = min(row.row_id for rows in cut.values() for row in rows)
        raise AssayError(f"the messages of row {gone} are gone from the landed files: build again")
    return lines


def _put_in_order(task: _MixTask) -> list[Written]:
    """The lines of a mix in order, and the same rows as parquet, all of them and by split."""
    digest = hashlib.sha256()
    with writing(task.files[".jsonl"].parent):
        with ExitStack() as stack:
            lines = stack.enter_context(task.files[".jsonl"].open("wb"))
            table, *by_split = (stack.enter_context(RowFile(task.files[ending])) for ending in _TABLES)
            places = dict(zip(SPLITS, by_split, strict=True))
            for data, lengths in _runs(task.lines, task.parts):
                lines.write(data)
                digest.update(data)
                offset = 0
                for length in lengths:
                    row = decoded(data[offset : offset + length])
                    offset += length
                    table.add(row, length)
                    if row.train_meta.split in places:
                        places[row.train_meta.split].add(row, length)
        counts = [table.n_rows, *(file.n_rows for file in by_split)]
        return _finished(task.name, task.files, digest.hexdigest(), len(task.lines), counts)


def _put_together(task: _FinalTask) -> list[Written]:
    """A final: its mixes one behind the other, line by line and group of rows by group of rows."""
    digest = hashlib.sha256()
    n_rows = 0
    with writing(task.files[".jsonl"].parent):
        with task.files[".jsonl"].open("wb") as lines:
            for mix in task.mixes:
                with mix[".jsonl"].open("rb") as file:
                    while data := file.read(_READ_BYTES):
                        lines.write(data)
                        digest.update(data)
        with row_writer(task.files[".parquet"]) as table:
            for mix in task.mixes:
                with pq.ParquetFile(mix[".parquet"]) as source:
                    for group in range(source.num_row_groups):
                        rows = source.read_row_group(group, use_threads=False).combine_chunks()
                        table.write_table(rows, row_group_size=rows.num_rows)
                        n_rows += rows.num_rows
        return _finished(task.name, task.files, digest.hexdigest(), n_rows, [n_rows])


def _finished(name: str, files: Mapping[str, Path], digest: str, n_lines: int, counts: Sequence[int]) -> list[Written]:
    written = [Written(f"{name}.jsonl", files[".jsonl"].stat().st_size, digest, n_lines)]
    for ending, n_rows in zip(_TABLES[: len(counts)], counts, strict=True):
        written.append(Written(f"{name}{ending}", *size_and_hash(files[ending]), n_rows))
    return written


def _runs(lines: Sequence[Line], parts: Path) -> Iterator[tuple[memoryview, list[int]]]:
    """The bytes of the lines in order, read in stretches that lie together in one part, and each line's length."""
    opened: tuple[str, BinaryIO] | None = None
    try:
        start = 0
        while start < len(lines):
            end, size = start + 1, lines[start].length
            while end < len(lines) and _follows(lines[end - 1], lines[end]) and size < _READ_BYTES:
                size += lines[end].length
                end += 1
            first = lines[start]
            if opened is None or opened[0] != first.part:
                if opened is not None:
                    opened[1].close()
                opened = (first.part, (parts / first.part).open("rb", buffering=0))
            data = bytearray(size)
            opened[1].seek(first.offset)
            view = memoryview(data)
            done = 0
            while done < size:
                n_read = opened[1].readinto(view[done:])  # type: ignore[attr-defined]  # a raw file
                if not n_read:
                    raise AssayError("a part of the export was cut short while it was put together: build again")
                done += n_read
            yield view, [line.length for line in lines[start:end]]
            start = end
    finally:
        if opened is not None:
            opened[1].close()


def _follows(before: Line, line: Line) -> bool:
    return line.part == before.part and line.offset == before.offset + before.length


def _write_audit(audit: Path, path: Path) -> Written:
    n_rows = 0
    with path.open("wb", buffering=1 << 20) as file:
        for batch in pq.ParquetFile(audit).iter_batches(batch_size=1024):
            for row in batch.to_pylist():
                file.write(encoded(row) + b"\n")
                n_rows += 1
    return Written(AUDIT_FILE, *size_and_hash(path), n_rows)
