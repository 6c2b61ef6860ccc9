"""Bytes of a file to lines with their place, in bounded memory, whatever the file holds."""

import hashlib
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from assay.landing.faults import RefusedError

CHUNK_BYTES = 1 << 20
# What a decompressor has not used of its input is copied at every step: with small pieces a file of ten thousands
# of gzip members, or of one that inflates a thousandfold, stays cheap.
_COMPRESSED_BYTES = 1 << 16
EXCERPT_BYTES = 1024
MAX_LINES = 10_000_000
"""Lines of one file that are read, blank ones apart: far above any published file."""
_BLANK = re.compile(rb"[ \t\n\r\v\f]*")
_GZIP_MAGIC = b"\x1f\x8b"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass
class Line:
    """One line that is not blank: its number from 1, its byte offset in the uncompressed text, and its bytes.

    `fault` is set instead of complete `data` where the line cannot be taken as it is; `data` is then its beginning.
    """

    number: int
    byte_offset: int
    data: bytes
    fault: RefusedError | None = None


class ByteSource:
    """A file's uncompressed bytes in chunks; hashes what it passes.

    Whether a file is gzip is read from its first bytes, not from its name. A stream that ends early or is damaged
    gives all bytes before the fault, which is then in `fault`.
    """

    def __init__(self, path: Path) -> None:
        """Take the path; nothing is opened before `chunks`."""
        self.path = path
        self.size = 0
        self.compression = "none"
        self.fault: RefusedError | None = None
        self._raw_hash = hashlib.sha256()
        self._content_hash = hashlib.sha256()

    @property
    def sha256(self) -> str:
        """Hex digest of the file's own bytes read so far."""
        return self._raw_hash.hexdigest()

    @property
    def content_sha256(self) -> str:
        """Hex digest of the uncompressed bytes; equal to `sha256` for a file that is not compressed."""
        return self.sha256 if self.compression == "none" else self._content_hash.hexdigest()

    def chunks(self) -> Iterator[bytes]:
        """Yield uncompressed chunks of at most `CHUNK_BYTES`, to the end of the file or the first fault."""
        with self.path.open("rb") as file:
            first = self._read(file, _COMPRESSED_BYTES)
            if first.startswith(_GZIP_MAGIC):
                self.compression = "gzip"
                yield from self._inflate(file, first)
            else:
                while first:
                    yield first
                    first = self._read(file)

    def _read(self, file: BinaryIO, n_bytes: int = CHUNK_BYTES) -> bytes:
        data = file.read(n_bytes)
        self.size += len(data)
        self._raw_hash.update(data)
        return data

    def _inflate(self, file: BinaryIO, data: bytes) -> Iterator[bytes]:
        stream = zlib.decompressobj(wbits=31)
        while True:
            before = stream.copy()
            try:
                content = stream.decompress(data, CHUNK_BYTES)
            except zlib.error as error:
                self.fault = RefusedError("invalid_gzip", str(error))
                yield from map(self._hashed, _salvage(before, data))
                break
            if content:
                yield self._hashed(content)
            if stream.eof:
                # Another member may follow; zero padding after the last one is allowed.
                data = stream.unused_data.lstrip(b"\0")
                while not data and (piece := self._read(file, _COMPRESSED_BYTES)):
                    data = piece.lstrip(b"\0")
                if not data:
                    break
                stream = zlib.decompressobj(wbits=31)
            else:
                data = stream.unconsumed_tail
                # A full chunk may leave more behind, inside the decompressor, even when all input is used.
                if not data and len(content) < CHUNK_BYTES:
                    data = self._read(file, _COMPRESSED_BYTES)
                    if not data:
                        self.fault = RefusedError("truncated_gzip", f"after {self.size} compressed bytes")
                        break
        while self._read(file):  # the rest still counts for the file's own hash and size
            pass

    def _hashed(self, content: bytes) -> bytes:
        self._content_hash.update(content)
        return content


def _salvage(stream: "zlib._Decompress", data: bytes) -> Iterator[bytes]:
    """The content before the damage: a decompressor that fails keeps back what the same call had inflated."""
    for position in range(len(data)):
        try:
            content = stream.decompress(data[position : position + 1])
        except zlib.error:
            return
        if content:
            yield content


class LineReader:
    """Splits a `ByteSource` at line feeds alone; blank lines are counted, not yielded."""

    def __init__(self, source: ByteSource, max_line_bytes: int) -> None:
        """`max_line_bytes` bounds what one line may make us hold."""
        self.source = source
        self.max_line_bytes = max_line_bytes
        self.n_lines = 0
        self.n_blank_lines = 0
        self._chunks: Iterator[bytes] = source.chunks()

    def beginning(self) -> bytes:
        """The first bytes of the text; the lines still begin with them."""
        first = next(self._chunks, b"")
        self._chunks = chain([first] if first else [], self._chunks)
        return first

    def refuse_rest(self) -> None:
        """Take no more lines; what is left still counts for the hashes."""
        for _ in self._chunks:
            pass

    def __iter__(self) -> Iterator[Line]:
        """Yield the lines that are not blank, and one faulty line for a stream that broke off."""
        number, offset, length = 1, 0, 0
        pieces: list[bytes] = []
        for chunk in self._chunks:
            start = 0
            while True:
                if not length and (blank := self._blank_lines(chunk, start)) > start:
                    n_blank_lines = chunk.count(b"\n", start, blank)
                    self.n_blank_lines += n_blank_lines
                    number, offset, start = number + n_blank_lines, offset + blank - start, blank
                if (end := chunk.find(b"\n", start)) < 0:
                    break
                if self.n_lines == MAX_LINES:
                    self.n_lines += 1
                    yield Line(number, offset, chunk[start:end][:EXCERPT_BYTES], _TOO_MANY_LINES)
                    self.refuse_rest()
                    return
                length += end - start
                self._keep(pieces, chunk[start:end], length)
                yield from self._line(number, offset, pieces, length)
                number, offset, length = number + 1, offset + length + 1, 0
                pieces.clear()
                start = end + 1
            length += len(chunk) - start
            self._keep(pieces, chunk[start:], length)
        if self.source.fault is not None:
            self.n_lines += 1
            yield Line(number, offset, b"".join(pieces), self.source.fault)
        elif length:
            yield from self._line(number, offset, pieces, length)

    @staticmethod
    def _blank_lines(chunk: bytes, start: int) -> int:
        """Where the blank lines that begin at `start` end."""
        found = _BLANK.match(chunk, start)
        return chunk.rfind(b"\n", start, found.end() if found else start) + 1

    def _keep(self, pieces: list[bytes], piece: bytes, length: int) -> None:
        """Hold a piece of the current line, or, once the line is too long, only its beginning."""
        if length <= self.max_line_bytes:
            pieces.append(piece)
        elif sum(map(len, pieces)) > EXCERPT_BYTES:
            pieces[:] = [b"".join(pieces)[:EXCERPT_BYTES]]
        else:
            pieces.append(piece[:EXCERPT_BYTES])

    def _line(self, number: int, offset: int, pieces: list[bytes], length: int) -> Iterator[Line]:
        data = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        if number == 1:
            data = data.removeprefix(_BYTE_ORDER_MARK)
        if length > self.max_line_bytes:
            self.n_lines += 1
            yield Line(number, offset, data, RefusedError("line_too_long", f"{length} bytes"))
        elif data.strip():
            self.n_lines += 1
            yield Line(number, offset, data)
        else:
            self.n_blank_lines += 1


_TOO_MANY_LINES = RefusedError("too_many_lines", f"only the first {MAX_LINES} are read: divide the file")


def read_document(source: ByteSource, max_bytes: int) -> Line:
    """Read a file that is one JSON document as one line; longer than `max_bytes` is a fault."""
    pieces: list[bytes] = []
    length = 0
    for chunk in source.chunks():
        length += len(chunk)
        if length <= max_bytes:
            pieces.append(chunk)
    data = b"".join(pieces)
    fault = source.fault
    if fault is None and length > max_bytes:
        fault = RefusedError("line_too_long", f"{length} bytes")
    return Line(1, 0, data.removeprefix(_BYTE_ORDER_MARK), fault)
