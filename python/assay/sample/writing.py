"""Bytes as they are published: JSON forms, hashed files, gzip without a clock."""

import gzip
import hashlib
import io
import json
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from assay.errors import AssayError


def json_line(value: Any) -> bytes:
    """One JSON line: sorted keys, compact, ASCII-escaped, line end (contract a.1)."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return text.encode("ascii") + b"\n"


def json_document(value: Any) -> bytes:
    """An indented document: two spaces, sorted keys, final line end (contract a.1)."""
    return (json.dumps(value, sort_keys=True, indent=2, ensure_ascii=True) + "\n").encode("ascii")


def gzip_bytes(data: bytes) -> bytes:
    """Gzip without name and time, so that the same data gives the same bytes."""
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=buffer, mtime=0, compresslevel=6) as handle:
        handle.write(data)
    return buffer.getvalue()


@dataclass(frozen=True)
class Written:
    """One written file: size, hash and how many lines or rows it holds."""

    size: int
    sha256: str
    lines: int


class Output:
    """A file written piece by piece; it counts and hashes what goes by."""

    def __init__(self, path: Path) -> None:
        """Open the file; its folder is made."""
        self.path = path
        self._hash = hashlib.sha256()
        self._size = 0
        self._lines = 0
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._handle: BinaryIO = path.open("wb", buffering=1 << 20)
        except OSError as error:
            raise fault(path, error) from error

    def __enter__(self) -> "Output":
        """Return itself; leaving the block closes the file."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file; a full disk shows here at the latest."""
        try:
            self._handle.close()
        except OSError as error:
            raise fault(self.path, error) from error

    def write(self, data: bytes) -> None:
        """Append bytes."""
        try:
            self._handle.write(data)
        except OSError as error:
            raise fault(self.path, error) from error
        self._hash.update(data)
        self._size += len(data)
        self._lines += data.count(b"\n")

    def written(self) -> Written:
        """What went by so far."""
        return Written(self._size, self._hash.hexdigest(), self._lines)


def write_file(path: Path, data: bytes) -> Written:
    """Write one whole file."""
    with Output(path) as output:
        output.write(data)
    return output.written()


def fault(path: Path, error: OSError) -> AssayError:
    """The sentence a person sees when a file cannot be written."""
    return AssayError(f"cannot write {path}: {error.strerror or error}")


def digest_hex(text: str, length: int = 64) -> str:
    """Stable hex digits for a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:length]


def uuid_of(text: str) -> str:
    """A stable identifier in the form of a random UUID."""
    d = digest_hex(text, 32)
    return f"{d[:8]}-{d[8:12]}-4{d[13:16]}-{'89ab'[int(d[16], 16) % 4]}{d[17:20]}-{d[20:32]}"
