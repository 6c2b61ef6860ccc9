"""What every export shares: its table of files, its lines of JSON, the hash of what it came from."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

FILES = pa.schema(
    [
        ("file", pa.string()),
        ("bytes", pa.int64()),
        ("sha256", pa.string()),
        ("n_rows", pa.int64()),
        ("rules", pa.string()),
        ("inputs_sha256", pa.string()),
    ]
)
"""One row a written file: `file` is its path below the exports folder, `rules` what it was made under, as JSON."""

# A line of JSON stays one line for readers that also break lines at these.
LINE_BREAKS = {mark: f"\\u{ord(mark):04x}" for mark in "\x85\u2028\u2029"}


def json_line(row: Mapping[str, Any]) -> str:
    """Return a row as one line of JSON with its line end. Raises ValueError for a number JSON does not have."""
    return one_line(json.dumps(row, ensure_ascii=False, allow_nan=False)) + "\n"


def one_line(text: str) -> str:
    """Return a text of JSON with every mark escaped at which a reader may break lines."""
    for mark, escape in LINE_BREAKS.items():
        text = text.replace(mark, escape)
    return text


def size_and_hash(path: Path) -> tuple[int, str]:
    """Bytes of a file, and their SHA-256 (hex)."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return path.stat().st_size, digest


def inputs_sha256(artifacts: duckdb.DuckDBPyRelation, sources: Iterable[str]) -> str:
    """SHA-256 (hex) over path and hash of every file of the raw tree that belongs to the sources, in order of paths."""
    wanted = frozenset(sources)
    digest = hashlib.sha256()
    named = artifacts.project("source, artifact_id, sha256").order("artifact_id")
    for source, artifact_id, sha256 in named.fetchall():
        if source in wanted:
            digest.update(f"{artifact_id}\t{sha256}\n".encode())
    return digest.hexdigest()


def rules_json(settings: Mapping[str, Any]) -> str:
    """Settings as one JSON object, keys in order."""
    return json.dumps(dict(settings), sort_keys=True, ensure_ascii=False)


def files_table(rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    """The table of `FILES`, from tuples in its order."""
    columns = list(zip(*rows, strict=True)) or [()] * len(FILES)
    return pa.table([pa.array(column, field.type) for column, field in zip(columns, FILES, strict=True)], schema=FILES)
