"""Conversations from the landed messages, the one home of long text; rows are cut from them, nothing is copied."""

import hashlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from assay.errors import AssayError
from assay.mixes.audit import Message
from assay.names import shown

Place = tuple[int, str]
"""Line of the artifact, and side (empty in a table that has no sides)."""

LINES_A_BLOCK = 512
_MESSAGES_AT_A_TIME = 512
_TABLES = {"sn97": "sn97_messages", "mini_coder": "mini_coder_messages", "trajectories": "own_messages"}
_SIDED = frozenset(("sn97_messages",))


@dataclass(frozen=True, order=True)
class Block:
    """A stretch of `LINES_A_BLOCK` lines of one landed table of one artifact: what one task reads."""

    table: str
    artifact_id: str
    number: int

    @classmethod
    def of(cls, source: str, artifact_id: str, line: int) -> "Block":
        """The block a line of a source's artifact lies in. Raises AssayError for a source that has no messages."""
        if source not in _TABLES:
            raise AssayError(f"no messages were landed of the source {shown(source)}")
        return cls(_TABLES[source], artifact_id, line // LINES_A_BLOCK)

    def place(self, line: int, side: str | None) -> Place:
        """The place of a conversation in it."""
        return line, (side or "") if self.table in _SIDED else ""

    @property
    def stem(self) -> str:
        """A name for files that are made of the block."""
        return hashlib.sha256(f"{self.table}\t{self.artifact_id}\t{self.number}".encode()).hexdigest()[:32]

    def landed(self, landing: Path) -> Path:
        """The artifact's landed file."""
        return landing / self.table / f"{hashlib.sha256(self.artifact_id.encode()).hexdigest()[:32]}.parquet"


def conversations(landing: Path, block: Block, wanted: Collection[Place]) -> Iterator[tuple[Place, dict[int, Message]]]:
    """Yield the wanted conversations of a block, each as messages by their index, in order of line and side.

    Raises AssayError when the landed file is not there. What is wanted and not in the file is not yielded.
    """
    path = block.landed(landing)
    if not path.exists():
        raise AssayError(f"the landed messages of {block.artifact_id} are gone: build again")
    first, last = block.number * LINES_A_BLOCK, (block.number + 1) * LINES_A_BLOCK - 1
    columns = ["line", "message_index", "role", "content", *(["side"] if block.table in _SIDED else [])]

    def rows() -> Iterator[tuple[Any, ...]]:
        with pq.ParquetFile(path) as file:
            groups = [number for number in range(file.num_row_groups) if _overlaps(file, number, first, last)]
            for batch in file.iter_batches(batch_size=_MESSAGES_AT_A_TIME, row_groups=groups, columns=columns):
                # A file holds its columns in an order of its own.
                values = {name: batch.column(name).to_pylist() for name in columns}
                if values["line"] and values["line"][0] <= last and values["line"][-1] >= first:
                    yield from zip(*values.values(), strict=True)

    def place(row: tuple[Any, ...]) -> Place:
        return int(row[0]), str((row[4] if block.table in _SIDED else None) or "")

    chosen = frozenset(wanted)
    for key, group in groupby(rows(), key=place):
        if key in chosen:
            yield key, {int(row[1]): message_of(row[2], row[3]) for row in group}


def message_of(role: str | None, content: str | None) -> Message:
    """A message as it is audited and exported: NUL and lone surrogates become U+FFFD, nothing else changes."""
    return Message(role or "", _writable(content or ""))


def _writable(text: str) -> str:
    # A NUL ends a text for many readers, and half a surrogate pair is no text at all.
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _overlaps(file: pq.ParquetFile, group: int, first: int, last: int) -> bool:
    place = file.schema_arrow.get_field_index("line")
    statistics = file.metadata.row_group(group).column(place).statistics
    if statistics is None or not statistics.has_min_max:
        return True
    return bool(statistics.min <= last and statistics.max >= first)
