"""Exported rows as bytes: lines of JSON, and the same rows as a parquet file (contract: exports, 3b).

The canonical row is `id`, `messages` (each with `role`, `content` and `train`), `mix`, `train_meta`. Every message has
the same keys in every row, so that no reader infers another type from the first rows it sees.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from assay.exporting import LINE_BREAKS
from assay.mixes.audit import Message

ROWS_A_GROUP = 1024
BYTES_A_GROUP = 32 << 20

TURN = pa.struct(
    [
        ("message_index", pa.int64()),
        ("turn", pa.int64()),
        ("credit", pa.float64()),
        ("tags", pa.list_(pa.string())),
        ("is_recovery", pa.bool_()),
        ("command_kind", pa.string()),
    ]
)
MESSAGE = pa.struct([("role", pa.string()), ("content", pa.string()), ("train", pa.bool_())])
META = pa.struct(
    [
        ("split", pa.string()),
        ("weight", pa.float64()),
        ("n_tokens", pa.int64()),
        ("n_trained_tokens", pa.int64()),
        ("turns", pa.list_(TURN)),
    ]
)
SCHEMA = pa.schema([("id", pa.string()), ("messages", pa.list_(MESSAGE)), ("mix", pa.string()), ("train_meta", META)])
"""The declared types of the parquet files; those of the lines of JSON are the same."""


class MessageRecord(msgspec.Struct):
    """A message as it is read back."""

    role: str
    content: str
    train: bool


class TurnRecord(msgspec.Struct):
    """What is known of a trained turn; `message_index` is its place in the row, from 0."""

    message_index: int
    turn: int | None
    credit: float | None
    tags: list[str]
    is_recovery: bool | None
    command_kind: str | None


class MetaRecord(msgspec.Struct):
    """What a trainer may select or weigh by."""

    split: str | None
    weight: float | None
    n_tokens: int | None
    n_trained_tokens: int | None
    turns: list[TurnRecord]


class RowRecord(msgspec.Struct):
    """A canonical row."""

    id: str
    messages: list[MessageRecord]
    mix: str
    train_meta: MetaRecord

    @property
    def split(self) -> str | None:
        """Train or validation."""
        return self.train_meta.split

    @property
    def n_targets(self) -> int:
        """Messages that train."""
        return sum(message.train for message in self.messages)


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(RowRecord)
_BREAKS = [(mark.encode(), escape.encode()) for mark, escape in LINE_BREAKS.items()]


def encoded(value: Any) -> bytes:
    """A value as JSON that stays in one line for every reader."""
    data = _encoder.encode(value)
    for mark, escape in _BREAKS:
        if mark in data:
            data = data.replace(mark, escape)
    return data


def decoded(line: bytes | memoryview) -> RowRecord:
    """A canonical row from its line. Raises msgspec.DecodeError when it is none."""
    return _decoder.decode(line)


class RowEncoder:
    """Encodes the rows that are cut from one conversation, each message once."""

    def __init__(self, conversation: Mapping[int, Message]) -> None:
        """Take the conversation, messages by their index."""
        self._conversation = conversation
        self._heads: dict[int, bytes] = {}

    def line(self, row_id: str, mix: str, indexes: Sequence[int], meta: Mapping[str, Any]) -> bytes:
        """The line of a row, with its line end; messages train whose place in the row is in `meta["turns"]`."""
        trained = {turn["message_index"] for turn in meta["turns"]}
        messages = b",".join(
            self._head(index) + (b"true}" if place in trained else b"false}") for place, index in enumerate(indexes)
        )
        return b"".join(
            (b'{"id":', encoded(row_id), b',"messages":[', messages, b'],"mix":', encoded(mix), b',"train_meta":',
             encoded(meta), b"}\n")
        )  # fmt: skip

    def _head(self, index: int) -> bytes:
        head = self._heads.get(index)
        if head is None:
            message = self._conversation[index]
            head = b'{"role":' + encoded(message.role) + b',"content":' + encoded(message.content) + b',"train":'
            self._heads[index] = head
        return head


def rows_table(rows: Sequence[RowRecord]) -> pa.Table:
    """Rows as a table of `SCHEMA`."""
    messages = [message for row in rows for message in row.messages]
    turns = [turn for row in rows for turn in row.train_meta.turns]
    metas = [row.train_meta for row in rows]
    turn_arrays = [
        pa.array([turn.message_index for turn in turns], pa.int64()),
        pa.array([turn.turn for turn in turns], pa.int64()),
        pa.array([turn.credit for turn in turns], pa.float64()),
        pa.array([turn.tags for turn in turns], pa.list_(pa.string())),
        pa.array([turn.is_recovery for turn in turns], pa.bool_()),
        pa.array([turn.command_kind for turn in turns], pa.string()),
    ]
    message_arrays = [
        pa.array([message.role for message in messages], pa.string()),
        pa.array([message.content for message in messages], pa.string()),
        pa.array([message.train for message in messages], pa.bool_()),
    ]
    meta_arrays = [
        pa.array([meta.split for meta in metas], pa.string()),
        pa.array([meta.weight for meta in metas], pa.float64()),
        pa.array([meta.n_tokens for meta in metas], pa.int64()),
        pa.array([meta.n_trained_tokens for meta in metas], pa.int64()),
        _lists([len(meta.turns) for meta in metas], turn_arrays, TURN),
    ]
    return pa.table(
        [
            pa.array([row.id for row in rows], pa.string()),
            _lists([len(row.messages) for row in rows], message_arrays, MESSAGE),
            pa.array([row.mix for row in rows], pa.string()),
            pa.StructArray.from_arrays(meta_arrays, fields=list(META)),
        ],
        schema=SCHEMA,
    )


def _lists(lengths: Sequence[int], arrays: Sequence[pa.Array], kind: pa.StructType) -> pa.Array:
    """Lists of structs, from the fields of all structs one behind the other and the length of each list."""
    offsets = [0]
    for length in lengths:
        offsets.append(offsets[-1] + length)
    structs = pa.StructArray.from_arrays(list(arrays), fields=list(kind))
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), structs)


def row_writer(path: Path) -> pq.ParquetWriter:
    """A parquet file of `SCHEMA` to write tables to."""
    return pq.ParquetWriter(path, SCHEMA, compression="zstd", compression_level=1)


class RowFile:
    """A parquet file of canonical rows; groups of rows are cut by their rows alone, so that its bytes are too."""

    def __init__(self, path: Path) -> None:
        """Begin the file at this path."""
        self._writer = row_writer(path)
        self._group: list[RowRecord] = []
        self._group_bytes = 0
        self.n_rows = 0

    def __enter__(self) -> "RowFile":
        """Nothing to prepare."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Write what is left and end the file."""
        if error is None:
            self._flush()
        self._writer.close()

    def add(self, row: RowRecord, n_bytes: int) -> None:
        """Append a row whose line has this many bytes."""
        self._group.append(row)
        self._group_bytes += n_bytes
        self.n_rows += 1
        if len(self._group) >= ROWS_A_GROUP or self._group_bytes >= BYTES_A_GROUP:
            self._flush()

    def _flush(self) -> None:
        if self._group:
            self._writer.write_table(rows_table(self._group), row_group_size=len(self._group))
        self._group, self._group_bytes = [], 0


def lines_of(path: Path) -> Iterator[bytes]:
    """The lines of a file of canonical rows, with their line ends."""
    with path.open("rb", buffering=1 << 20) as file:
        yield from file
