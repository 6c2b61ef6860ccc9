"""One object from a store to its place: resumed, checked to its end, and put there whole or not at all."""

import hashlib
import json
import os
import threading
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from assay.errors import AssayError
from assay.harvest.listings import Remote
from assay.harvest.stores import CHUNK, Body, Store, TransientError
from assay.names import shown

ATTEMPTS = 6
_LONGEST_WAIT = 60.0
# What a gzip may unfold to while its end is looked for: 200 times its size or what is small anyway, and never more.
LARGEST_CONTENT = 64 << 30
SMALL_CONTENT = 1 << 30
_LARGEST_RATIO = 200


class StoppedError(Exception):
    """The user wants to stop; what is there stays for the next time."""


@dataclass(frozen=True)
class Fetched:
    """What became of an object: its size and hash, the version that was fetched, and the bytes that came over."""

    size: int
    sha256: str
    validator: str | None
    transferred: int
    unchanged: bool = False


@dataclass(frozen=True)
class Limits:
    """How large an object may be, and how often and how long it is tried again."""

    largest_bytes: int
    attempts: int = ATTEMPTS
    longest_wait: float = _LONGEST_WAIT


def fetch(
    store: Store,
    remote: Remote,
    target: Path,
    part: Path,
    limits: Limits,
    validator: str | None = None,
    stop: threading.Event | None = None,
    progress: Callable[[int], None] | None = None,
) -> Fetched:
    """Bring `target` to what the store holds; `validator` names the version that is there already.

    Bytes gather in `part`, which a later call goes on with as long as the object is the same version. Raises
    `AssayError` for an object that is larger than announced or than the limit, has another hash or no proper end, and
    for a store that still does not answer after the last try; `MissingError` where there is none; `StoppedError` when
    `stop` is set.
    """
    stop = stop or threading.Event()
    transferred = 0

    def count(number: int) -> None:
        nonlocal transferred
        transferred += number
        if progress:
            progress(number)

    retries = Retrying(
        retry=retry_if_exception_type(TransientError),
        stop=stop_after_attempt(limits.attempts),
        wait=_wait(limits.longest_wait),
        sleep=lambda seconds: _sleep(stop, seconds),
        reraise=True,
    )
    try:
        for attempt in retries:
            with attempt:
                made = _try_once(store, remote, part, limits, validator, stop, count)
    except TransientError as error:
        raise AssayError(f"{error}, {limits.attempts} times: try again later; what came over is kept") from None
    if made is None:
        return Fetched(target.stat().st_size, "", validator, transferred, unchanged=True)
    size, sha256, version = made
    target.parent.mkdir(parents=True, exist_ok=True)
    os.replace(part, target)
    _note(part).unlink(missing_ok=True)
    return Fetched(size, sha256, version, transferred)


def _wait(longest: float) -> Callable[[RetryCallState], float]:
    backoff = wait_random_exponential(multiplier=0.5, max=longest)

    def wait(state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        asked = error.seconds if isinstance(error, TransientError) else None
        # A server's own wish, but no server keeps us for an hour.
        return min(longest, asked) if asked is not None else backoff(state)

    return wait


def _sleep(stop: threading.Event, seconds: float) -> None:
    if stop.wait(seconds):
        raise StoppedError


def _note(part: Path) -> Path:
    return part.with_name(f"{part.name}.version")


def _try_once(
    store: Store,
    remote: Remote,
    part: Path,
    limits: Limits,
    validator: str | None,
    stop: threading.Event,
    count: Callable[[int], None],
) -> tuple[int, str, str | None] | None:
    """One request. Returns size, hash and version of the whole object, or null when it is the version that is there."""
    held, version = _begun(part)
    with store.open(remote.address, held, version if held else validator) as body:
        if body.unchanged and not held:
            return None
        begin = held if held and body.offset == held and body.validator == version else 0
        if held and body.offset not in (0, held):
            _forget(part)
            raise TransientError(f"{shown(remote.address)} was sent from another place than asked for")
        _write(remote, body, part, begin, limits, stop, count)
        version, stated = body.validator, body.sha256
    try:
        return (*_checked(remote, part, stop, stated), version)
    except AssayError:
        # Bytes that are wrong are no beginning of bytes that are right.
        _forget(part)
        raise


def _begun(part: Path) -> tuple[int, str | None]:
    try:
        noted: dict[str, Any] = json.loads(_note(part).read_text(encoding="utf-8"))
        version = noted["version"]
        return (part.stat().st_size, version) if isinstance(version, str) else (0, None)
    except (OSError, ValueError, KeyError, TypeError):
        return 0, None


def _forget(part: Path) -> None:
    part.unlink(missing_ok=True)
    _note(part).unlink(missing_ok=True)


def _write(
    remote: Remote,
    body: Body,
    part: Path,
    begin: int,
    limits: Limits,
    stop: threading.Event,
    count: Callable[[int], None],
) -> None:
    largest = min(limits.largest_bytes, body.size if body.size is not None else limits.largest_bytes)
    if body.size is not None and body.size > limits.largest_bytes:
        raise AssayError(
            f"{shown(remote.address)} has {body.size:,} bytes, more than the limit of {limits.largest_bytes:,}"
        )
    if remote.size is not None and body.size is not None and body.size != remote.size:
        raise AssayError(f"{shown(remote.address)} has {body.size:,} bytes, its listing says {remote.size:,}")
    part.parent.mkdir(parents=True, exist_ok=True)
    # The version is noted first: bytes without one are never gone on with.
    _note(part).write_text(json.dumps({"version": body.validator}), encoding="utf-8")
    written = begin
    with part.open("r+b" if begin else "wb") as file:
        file.seek(begin)
        file.truncate()
        for chunk in body.chunks:
            if stop.is_set():
                raise StoppedError
            written += len(chunk)
            if written > largest:
                raise AssayError(f"{shown(remote.address)} sends more than the {largest:,} bytes that it may have")
            file.write(chunk)
            count(len(chunk))
        file.flush()
        os.fsync(file.fileno())
    if body.size is not None and written < body.size:
        raise TransientError(f"{shown(remote.address)} ended after {written:,} of {body.size:,} bytes")


def _checked(remote: Remote, part: Path, stop: threading.Event, stated: str | None) -> tuple[int, str]:
    """Size and hash of the bytes. Raises `AssayError` where they are not what was published or have no end."""
    size, digest = 0, hashlib.sha256()
    for chunk in _chunks(part, stop):
        digest.update(chunk)
        size += len(chunk)
    sha256 = digest.hexdigest()
    if remote.size is not None and size != remote.size:
        raise AssayError(f"{shown(remote.address)} has {size:,} bytes, its listing says {remote.size:,}")
    for who, wanted in (("listing", remote.sha256), ("store", stated)):
        if wanted is not None and sha256 != wanted:
            raise AssayError(f"{shown(remote.address)} has the SHA-256 {sha256}, its {who} says {shown(wanted)}")
    if fault := _end_fault(remote, part, size, stop):
        raise AssayError(f"{shown(remote.address)} {fault}")
    return size, sha256


def _end_fault(remote: Remote, part: Path, size: int, stop: threading.Event) -> str | None:
    """What is wrong with the end of a file of its kind, null when nothing is."""
    name = remote.place
    if name.endswith(".gz"):
        return _gzip_fault(remote, part, size, stop)
    with part.open("rb") as file:
        file.seek(max(0, size - 4096))
        tail = file.read()
    if name.endswith(".parquet") and (size < 12 or not tail.endswith(b"PAR1")):
        return "has no end of a parquet file"
    if name.endswith(".jsonl") and size and not tail.endswith(b"\n"):
        return "ends in the middle of a line"
    if name.endswith(".json") and not tail.rstrip().endswith((b"}", b"]")):
        return "ends in the middle of a JSON document"
    return None


def _gzip_fault(remote: Remote, part: Path, size: int, stop: threading.Event) -> str | None:
    """Unfold a gzip without keeping anything: its check sum, its end, and the hash of what it holds."""
    largest = min(LARGEST_CONTENT, max(SMALL_CONTENT, size * _LARGEST_RATIO))
    digest, held, unfolder = hashlib.sha256(), 0, zlib.decompressobj(wbits=31)
    in_member = not size
    try:
        for chunk in _chunks(part, stop):
            left, out = chunk, b""
            while left or len(out) == CHUNK:
                out = unfolder.decompress(left, CHUNK)
                held += len(out)
                digest.update(out)
                if held > largest:
                    return f"unfolds to more than {largest:,} bytes"
                in_member, left = not unfolder.eof, unfolder.unused_data if unfolder.eof else unfolder.unconsumed_tail
                if unfolder.eof:
                    unfolder, out = zlib.decompressobj(wbits=31), b""
    except zlib.error as error:
        return f"is no whole gzip: {error}"
    if in_member:
        return "ends in the middle of a gzip"
    if remote.content_sha256 is not None and digest.hexdigest() != remote.content_sha256:
        return f"holds lines with the SHA-256 {digest.hexdigest()}, its manifest says {remote.content_sha256}"
    return None


def _chunks(path: Path, stop: threading.Event) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            if stop.is_set():
                raise StoppedError
            yield chunk
