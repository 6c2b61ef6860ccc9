"""From published listings to the objects they name: bytes in, objects out, nothing fetched.

Listings are untrusted: a name that would leave the raw tree, or an address that is no web address, names no object.
Rules: docs/rules/duels.md (files of a run), docs/rules/teacher.md (records, corpus).
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote, urlsplit

from assay.errors import AssayError
from assay.names import shown

_SAFE_PART = re.compile(r"[A-Za-z0-9._\-+=@:#]{1,200}")
_RUN_FILES = (
    "verdict.json",
    "request.json",
    "generated-samples.jsonl",
    "scoring-results.jsonl",
    "judge-results.jsonl",
    "duel-transcript.jsonl",
    "progress.jsonl",
    "remote-logs.txt",
)
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Remote:
    """One published object: its address (a key below the base, or a URL) and its place below the raw root.

    `sha256` is the hash of its bytes, `content_sha256` that of what its gzip holds; each null where nothing says.
    `at` is when it was published, null where nothing says.
    """

    address: str
    place: str
    size: int | None = None
    sha256: str | None = None
    content_sha256: str | None = None
    at: datetime | None = None


@dataclass(frozen=True)
class Listed:
    """Objects of a listing and how many entries it has that name none, by reason."""

    objects: list[Remote]
    refused: dict[str, int]


def safe_place(*parts: str) -> str | None:
    """The parts as a path below the raw root, or null when one of them is not a plain name."""
    names = [name for part in parts for name in part.split("/")]
    plain = all(_SAFE_PART.fullmatch(name) and set(name) != {"."} for name in names)
    return "/".join(names) if plain else None


def json_object(data: bytes, name: str) -> Mapping[str, Any]:
    """A listing as a JSON object. Raises `AssayError` naming it."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise AssayError(f"{name} is not JSON: {shown(error)}") from None
    if not isinstance(value, dict):
        raise AssayError(f"{name} is not a JSON object: is the base address right?")
    return value


def time_of(text: object) -> datetime | None:
    """A published time in UTC; null when it is none."""
    try:
        moment = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def duel_objects(dashboard: bytes, since: datetime | None, limit: int | None) -> Listed:
    """The files of every run that a dashboard lists, newest run first, and of every pre-eval fault."""
    listing = json_object(dashboard, "data/dashboard.json")
    refused: dict[str, int] = {}
    objects: dict[str, Remote] = {}
    runs = [run for run in _entries(listing, "eval_runs", refused) if _is_recent(run.get("finished_at"), since)]
    runs.sort(key=lambda run: (str(run.get("finished_at") or ""), str(run.get("eval_run_id"))), reverse=True)
    for run in runs[:limit]:
        for address in _addresses(run, refused):
            name = unquote(urlsplit(address).path).rpartition("/")[2]
            run_id = run.get("eval_run_id")
            place = safe_place("sn97", "runs", run_id, name) if isinstance(run_id, str) else None
            if place is None or name not in _RUN_FILES:
                _count(refused, "a run or file whose name is none of a run's files")
            else:
                objects.setdefault(place, Remote(address, place, at=time_of(run.get("finished_at"))))
    for fail in _entries(listing, "fails", refused):
        if not _is_recent(fail.get("updated_at"), since):
            continue
        for address in _addresses(fail, refused):
            found = re.search(r"/sanity/([^/]+)/([^/]+)/fault\.json$", unquote(urlsplit(address).path))
            place = safe_place("sn97", "sanity", *found.groups(), "fault.json") if found else None
            if place is not None:
                objects.setdefault(place, Remote(address, place, at=time_of(fail.get("updated_at"))))
    return Listed(list(objects.values()), refused)


def record_objects(index: bytes, since: datetime | None, limit: int | None) -> Listed:
    """The duel records of `evals/index.jsonl`, newest first; the last line of a key counts."""
    refused: dict[str, int] = {}
    records: dict[str, Remote] = {}
    for number, line in enumerate(index.split(b"\n"), 1):
        if not line.strip():
            continue
        entry = json_object(line, f"evals/index.jsonl, line {number},")
        key, size = str(entry.get("key")), entry.get("bytes")
        place = safe_place("sn120", key)
        if place is None or not re.fullmatch(r"evals/[^/]+\.json\.gz", key):
            _count(refused, "a record whose key is no evals/….json.gz")
        elif _is_recent(entry.get("at"), since):
            records.pop(key, None)
            # A line repeats a key that was published again: only the last one states the object's size.
            whole = size if isinstance(size, int) and not isinstance(size, bool) and size >= 0 else None
            records[key] = Remote(key, place, size=whole, at=time_of(entry.get("at")))
    newest = list(records.values())[::-1]
    return Listed(newest[:limit], refused)


def corpus_objects(manifest: bytes, name: str) -> tuple[Listed, int | None, str | None]:
    """The active files of a corpus manifest, its epoch, and the key of the manifest before it."""
    listing = json_object(manifest, name)
    refused: dict[str, int] = {}
    objects: list[Remote] = []
    index = listing.get("index")
    if isinstance(index, dict):
        objects += _corpus_file(index, refused, content=False)
    for entry in _entries(listing, "shards", refused):
        if entry.get("active") is True:
            objects += _corpus_file(entry, refused, content=True)
    epoch, before = listing.get("corpus_epoch"), listing.get("prev_manifest")
    before = before if isinstance(before, str) and manifest_place(before) else None
    return Listed(objects, refused), epoch if isinstance(epoch, int) else None, before


def manifest_place(key: str) -> str | None:
    """The place of an immutable manifest; null when the key is none."""
    return safe_place("sn120", key) if re.fullmatch(r"turns/manifests/[0-9a-f]{64}\.json", key) else None


def _corpus_file(entry: Mapping[str, Any], refused: dict[str, int], content: bool) -> Iterator[Remote]:
    key, stated = str(entry.get("key")), str(entry.get("sha256"))
    place = safe_place("sn120", key)
    if place is None or not key.startswith(("turns/", "views/")) or not _SHA256.fullmatch(stated):
        _count(refused, "a corpus file without a plain key and a SHA-256")
        return
    # A chunk's hash is over its lines, the index's over the file.
    if content:
        yield Remote(key, place, content_sha256=stated)
    else:
        yield Remote(key, place, sha256=stated)


def _entries(listing: Mapping[str, Any], name: str, refused: dict[str, int]) -> list[Mapping[str, Any]]:
    held = listing.get(name)
    found = held if isinstance(held, list) else []
    _count(refused, f"an entry of {name} that is no object", sum(not isinstance(entry, dict) for entry in found))
    return [entry for entry in found if isinstance(entry, dict)]


def _addresses(entry: Mapping[str, Any], refused: dict[str, int]) -> Iterator[str]:
    held = entry.get("artifacts")
    for _, address in sorted(held.items()) if isinstance(held, dict) else ():
        if isinstance(address, str) and urlsplit(address).scheme in ("http", "https"):
            yield address
        else:
            _count(refused, "an artifact that has no web address")


def _is_recent(text: object, since: datetime | None) -> bool:
    moment = time_of(text)
    return since is None or (moment is not None and moment >= since)


def _count(refused: dict[str, int], reason: str, number: int = 1) -> None:
    if number:
        refused[reason] = refused.get(reason, 0) + number
