"""Preference pairs as files: the messages both sides share, and the first reply in which they differ.

Both replies answer the same context, so a trainer that learns everything behind the prompt learns exactly one reply of
each side, and a mask needs no flag (contract: exports, 3).
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from assay.errors import AssayError
from assay.mixes.audit import Message
from assay.mixes.rows import BYTES_A_GROUP, encoded
from assay.mixes.texts import Block, conversations

PAIRS = "pairs"
"""What the pairs are called where mixes are called by their names."""
SOURCE = "sn97"
_ROWS_A_GROUP = 256
_TEXT = pa.struct([("role", pa.string()), ("content", pa.string())])
_META = pa.struct(
    [
        ("split", pa.string()),
        ("chosen_score", pa.float64()),
        ("rejected_score", pa.float64()),
        ("reasons", pa.list_(pa.string())),
        ("chosen_tokens", pa.int64()),
        ("rejected_tokens", pa.int64()),
    ]
)
SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("prompt", pa.list_(_TEXT)),
        ("chosen", pa.list_(_TEXT)),
        ("rejected", pa.list_(_TEXT)),
        ("mix", pa.string()),
        ("pair_meta", _META),
    ]
)
"""The declared types of the parquet files; those of the lines of JSON are the same."""


class PairMessage(msgspec.Struct):
    """A message as it is read back."""

    role: str
    content: str


class PairMeta(msgspec.Struct):
    """What is known of a pair; tokens are those of the prompt and the reply together, null without a tokenizer."""

    split: str
    chosen_score: float
    rejected_score: float
    reasons: list[str]
    chosen_tokens: int | None
    rejected_tokens: int | None


class PairRecord(msgspec.Struct):
    """A line of the pairs, read back."""

    id: str
    prompt: list[PairMessage]
    chosen: list[PairMessage]
    rejected: list[PairMessage]
    mix: str
    pair_meta: PairMeta

    @property
    def split(self) -> str:
        """Train or validation."""
        return self.pair_meta.split

    @property
    def n_targets(self) -> int:
        """A pair trains as one."""
        return 1


_DECODER = msgspec.json.Decoder(PairRecord)


def decoded_pair(line: bytes) -> PairRecord:
    """A line read back. Raises msgspec.MsgspecError when it is none."""
    return _DECODER.decode(line)


def write_pairs(pairs: Path, landing: Path, lines: Path, table: Path, by_split: Mapping[str, Path]) -> dict[Path, int]:
    """Write the pairs as lines of JSON and as parquet, all of them and by split; returns the rows of every file.

    `pairs` is a parquet file in the order of export: row_id, split, text_artifact_id, text_line, chosen_side,
    rejected_side, n_prompt_messages, chosen_score, rejected_score, reasons, chosen_tokens, rejected_tokens. Raises
    AssayError when a text is gone.
    """
    tables = {path: _Table(path) for path in (table, *by_split.values())}
    n_lines = 0
    with lines.open("wb", buffering=1 << 20) as file:
        for row in _made(pq.read_table(pairs).to_pylist(), landing):
            line = encoded(row) + b"\n"
            file.write(line)
            n_lines += 1
            for path in (table, by_split[row["pair_meta"]["split"]]):
                tables[path].add(row, len(line))
    return {lines: n_lines, **{path: one.end() for path, one in tables.items()}}


def _made(pairs: Sequence[Mapping[str, Any]], landing: Path) -> Iterator[dict[str, Any]]:
    blocks: dict[Block, list[Mapping[str, Any]]] = defaultdict(list)
    for pair in pairs:
        blocks[Block.of(SOURCE, pair["text_artifact_id"], pair["text_line"])].append(pair)
    for block, held in blocks.items():
        wanted = {
            block.place(pair["text_line"], pair[f"{part}_side"]) for pair in held for part in ("chosen", "rejected")
        }
        # A block is read in the order of its lines, and so are its pairs: the sides of one line are kept, no more.
        found = conversations(landing, block, wanted)
        sides: dict[tuple[int, str], dict[int, Message]] = {}
        for pair in held:
            keys = [block.place(pair["text_line"], pair[f"{part}_side"]) for part in ("chosen", "rejected")]
            while not all(key in sides for key in keys):
                place, conversation = next(found, (None, {}))
                if place is None:
                    raise AssayError(
                        f"the messages of pair {pair['row_id']} are gone from the landed files: build again"
                    )
                sides = {key: side for key, side in sides.items() if key[0] == place[0]} | {place: conversation}
            yield _row(pair, *(sides[key] for key in keys))


def _row(pair: Mapping[str, Any], chosen: Mapping[int, Message], rejected: Mapping[int, Message]) -> dict[str, Any]:
    fork = pair["n_prompt_messages"]
    texts = [[_text(side[index]) for index in sorted(side)[: fork + 1]] for side in (chosen, rejected)]
    if any(len(text) <= fork for text in texts) or texts[0][:fork] != texts[1][:fork]:
        raise AssayError(f"a message of pair {pair['row_id']} is gone from the landed files: build again")
    meta = {field.name: pair[field.name] for field in _META}
    replies = {name: [text[fork]] for name, text in zip(("chosen", "rejected"), texts, strict=True)}
    return {"id": pair["row_id"], "prompt": texts[0][:fork], **replies, "mix": PAIRS, "pair_meta": meta}


def _text(message: Message) -> dict[str, str]:
    return {"role": message.role, "content": message.content}


class _Table:
    """A parquet file whose groups of rows are cut by their rows alone."""

    def __init__(self, path: Path) -> None:
        self._writer = pq.ParquetWriter(path, SCHEMA, compression="zstd", compression_level=1)
        self._group: list[Mapping[str, Any]] = []
        self._n_bytes = self._n_rows = 0

    def add(self, row: Mapping[str, Any], n_bytes: int) -> None:
        self._group.append(row)
        self._n_bytes += n_bytes
        self._n_rows += 1
        if len(self._group) == _ROWS_A_GROUP or self._n_bytes >= BYTES_A_GROUP:
            self._flush()

    def end(self) -> int:
        self._flush()
        self._writer.close()
        return self._n_rows

    def _flush(self) -> None:
        if self._group:
            self._writer.write_table(pa.Table.from_pylist(self._group, schema=SCHEMA))
        self._group, self._n_bytes = [], 0
