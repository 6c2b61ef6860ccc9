"""A whole harvest: listings first, then what they name and the raw tree has not, a few objects at a time."""

import contextlib
import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from assay.errors import AssayError
from assay.harvest import listings
from assay.harvest.fetch import Fetched, Limits, StoppedError, fetch
from assay.harvest.listings import Listed, Remote
from assay.harvest.stores import BucketStore, FolderStore, MissingError, Store, WebStore, store_of
from assay.names import shown

BASES = {
    "sn120": "https://s3.hippius.com/affine-sn120",
    "mini-coder": "https://huggingface.co",
}
"""Where a source is published unless the user names another base; the duels' site has no fixed address."""
MINI_CODER = "ricdomolm/mini-coder-trajs-400k"
FOLDER = ".harvest"
"""Beside the sources in the raw root: what was fetched when, and what has begun to come over."""
_LISTING_BYTES = 1 << 30
_MANIFESTS = 10_000


@dataclass(frozen=True)
class Options:
    """What the user asks of a harvest."""

    since: datetime | None = None
    limit: int | None = None
    dry_run: bool = False
    verify: bool = False
    workers: int = 8
    largest_bytes: int = 64 << 30
    epochs: tuple[int, ...] = ()
    mirror: bool = False
    endpoint: str | None = None
    repository: str = MINI_CODER
    token: str | None = None


@dataclass
class Report:
    """What a harvest found and did; `faults` and `missing` have a sentence each object."""

    listed: int = 0
    fetched: int = 0
    present: int = 0
    transferred: int = 0
    to_fetch: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    refused: dict[str, int] = field(default_factory=dict)
    stopped: bool = False


Progress = Callable[[int, int, int], None]
"""Called with objects done, objects in all, and bytes that came over since the last call."""


class Manifest:
    """`.harvest/<source>.jsonl`: a line an object and fetch; the last line of a place counts."""

    def __init__(self, path: Path) -> None:
        """Read what is there; a line that a power cut left half written is passed over."""
        self._path = path
        self._lock = threading.Lock()
        self.held: dict[str, Mapping[str, Any]] = {}
        with contextlib.suppress(FileNotFoundError), path.open("rb") as lines:
            for line in lines:
                with contextlib.suppress(ValueError, KeyError, TypeError):
                    entry = json.loads(line)
                    self.held[entry["place"]] = entry

    def put(self, remote: Remote, made: Fetched) -> None:
        """Append a line."""
        entry = {
            "place": remote.place,
            "address": remote.address,
            "bytes": made.size,
            "sha256": made.sha256,
            "validator": made.validator,
            "fetched_at": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        with self._lock:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("ab") as lines:
                if lines.tell() and not _ends_a_line(self._path):
                    lines.write(b"\n")
                lines.write(json.dumps(entry).encode() + b"\n")
            self.held[remote.place] = entry

    def validator(self, remote: Remote, target: Path) -> str | None:
        """The version of an object that is in its place, null when none is known to be."""
        entry = self.held.get(remote.place)
        if entry is None or not target.is_file() or target.stat().st_size != entry.get("bytes"):
            return None
        found = entry.get("validator")
        return found if isinstance(found, str) else None

    def has(self, remote: Remote, target: Path, verify: bool) -> bool:
        """Whether an object that never changes is in its place already; `verify` reads its bytes again."""
        entry = self.held.get(remote.place)
        if entry is None or not target.is_file() or target.stat().st_size != entry.get("bytes"):
            return False
        if remote.sha256 is not None and entry.get("sha256") != remote.sha256:
            return False
        return not verify or _sha256(target) == entry.get("sha256")


def _ends_a_line(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class Harvest:
    """One run of `assay harvest`."""

    def __init__(
        self,
        source: str,
        store: Store,
        raw_root: Path,
        options: Options,
        limits: Limits,
        progress: Progress | None = None,
    ) -> None:
        """Nothing is fetched yet; the raw root is made when the first object comes."""
        self._store, self._root, self._options = store, raw_root, options
        self._manifest = Manifest(raw_root / FOLDER / f"{source}.jsonl")
        self._stop = threading.Event()
        self._progress = progress
        self._limits = limits
        self.report = Report()

    def stop(self) -> None:
        """End as soon as the chunks that are under way are written."""
        self._stop.set()

    def listing(self, remote: Remote, required: bool = True) -> bytes | None:
        """A listing as it is now; in the raw tree too, unless nothing may be written. Null where there is none."""
        target = self._root / remote.place
        if self._options.dry_run:
            return self._read(remote, required)
        try:
            made = fetch(
                self._store,
                remote,
                target,
                self._part(remote),
                replace(self._limits, largest_bytes=_LISTING_BYTES),
                self._manifest.validator(remote, target),
                self._stop,
            )
        except MissingError as error:
            if required:
                raise AssayError(f"there is no listing {error}: is the base address right?") from None
            return None
        if not made.unchanged:
            self._manifest.put(remote, made)
            self.report.transferred += made.transferred
        return target.read_bytes()

    def _read(self, remote: Remote, required: bool) -> bytes | None:
        try:
            with self._store.open(remote.address) as body:
                held = bytearray()
                for chunk in body.chunks:
                    held += chunk
                    if len(held) > _LISTING_BYTES:
                        raise AssayError(f"{shown(remote.address)} is larger than {_LISTING_BYTES:,} bytes")
                return bytes(held)
        except MissingError as error:
            if required:
                raise AssayError(f"there is no listing {error}: is the base address right?") from None
            return None

    def objects(self, listed: Listed) -> None:
        """Fetch the objects of a listing that are not in their places."""
        for reason, number in listed.refused.items():
            self.report.refused[reason] = self.report.refused.get(reason, 0) + number
        self.report.listed += len(listed.objects)
        todo = []
        for remote in listed.objects:
            if self._manifest.has(remote, self._root / remote.place, self._options.verify):
                self.report.present += 1
            else:
                todo.append(remote)
        if self._options.dry_run:
            self.report.to_fetch += [remote.place for remote in todo]
            return
        with ThreadPoolExecutor(self._options.workers) as pool:
            try:
                self._work(pool, todo)
            except KeyboardInterrupt:
                self.stop()
                self.report.stopped = True

    def _work(self, pool: ThreadPoolExecutor, todo: list[Remote]) -> None:
        waiting = iter(todo)
        pending: dict[Future[Fetched], Remote] = {}
        done = 0
        while not self.report.stopped:
            # A task ahead for each worker and no more, so that a harvest of any size holds few of them.
            for remote in _take(waiting, 2 * self._options.workers - len(pending)):
                pending[pool.submit(self._fetch_one, remote)] = remote
            if not pending:
                return
            finished, _ = wait(pending, return_when=FIRST_COMPLETED)
            for future in finished:
                remote = pending.pop(future)
                done += 1
                self._note(remote, future)
                if self._progress:
                    self._progress(done, len(todo), 0)

    def _fetch_one(self, remote: Remote) -> Fetched:
        target = self._root / remote.place
        count = (lambda number: self._progress(-1, -1, number)) if self._progress else None
        return fetch(self._store, remote, target, self._part(remote), self._limits, None, self._stop, count)

    def _note(self, remote: Remote, future: Future[Fetched]) -> None:
        try:
            made = future.result()
        except MissingError as error:
            # What is there already and vanished upstream stays.
            self.report.missing.append(str(error))
        except StoppedError:
            self.report.stopped = True
        except AssayError as error:
            self.report.faults.append(str(error))
        except OSError as error:
            self.stop()
            raise AssayError(
                f"{shown(self._root / remote.place)} cannot be written: {error.strerror or error}"
            ) from None
        else:
            self.report.fetched += 1
            self.report.transferred += made.transferred
            self._manifest.put(remote, made)

    def _part(self, remote: Remote) -> Path:
        return self._root / FOLDER / "parts" / hashlib.sha256(remote.place.encode()).hexdigest()[:32]


def _take(items: Iterator[Remote], number: int) -> list[Remote]:
    return [item for _, item in zip(range(max(0, number)), items, strict=False)]


def harvest(
    source: str,
    base: str | None,
    raw_root: Path,
    options: Options,
    progress: Progress | None = None,
    limits: Limits | None = None,
) -> Report:
    """Bring the raw tree up to what a source publishes now, and say what was done.

    What is there already is not fetched again, and what vanished upstream stays. Raises `AssayError` for a base without
    listings and for a raw root that cannot be written to; the faults of single objects are in the report.
    """
    address = base or BASES.get(source)
    if address is None:
        raise AssayError(f"{source} is published at no fixed address: name the site's address with --base")
    store = store_of(address, options.endpoint, options.token)
    work = Harvest(source, store, raw_root, options, limits or Limits(options.largest_bytes), progress)
    try:
        if source == "sn97":
            harvest_duels(work, options, address)
        elif source == "sn120":
            harvest_records(work, options)
        else:
            harvest_mini_coder(work, options, address, store)
    except (KeyboardInterrupt, StoppedError):
        work.report.stopped = True
    finally:
        if isinstance(store, WebStore):
            store.close()
    return work.report


def harvest_duels(harvest: Harvest, options: Options, base: str) -> None:
    """SN97: the dashboard, the state, and the files of the runs that it lists."""
    dashboard = harvest.listing(Remote("data/dashboard.json", "sn97/data/dashboard.json"))
    harvest.listing(Remote("data/state.json", "sn97/data/state.json"), required=False)
    listed = listings.duel_objects(dashboard or b"", options.since, options.limit)
    if options.mirror or urlsplit(base).scheme not in ("http", "https"):
        # A mirror keeps the published paths and has a host of its own.
        listed = Listed(
            [Remote(urlsplit(one.address).path.lstrip("/"), one.place, at=one.at) for one in listed.objects],
            listed.refused,
        )
    harvest.objects(listed)


def harvest_records(harvest: Harvest, options: Options) -> None:
    """SN120: the index, its records, every manifest, and the files of the current corpus and of epochs asked for."""
    index = harvest.listing(Remote("evals/index.jsonl", "sn120/evals/index.jsonl"))
    harvest.objects(listings.record_objects(index or b"", options.since, options.limit))
    pointer = harvest.listing(Remote("turns/manifest.json", "sn120/turns/manifest.json"), required=False)
    if pointer is None:
        return
    listed, _, before = listings.corpus_objects(pointer, "turns/manifest.json")
    files = {one.place: one for one in listed.objects}
    refused = dict(listed.refused)
    sha256 = hashlib.sha256(pointer).hexdigest()
    following: str | None = f"turns/manifests/{sha256}.json"
    for _ in range(_MANIFESTS):
        place = listings.manifest_place(following) if following else None
        if following is None or place is None:
            break
        stated = following.rpartition("/")[2].removesuffix(".json")
        data = harvest.listing(Remote(following, place, sha256=stated), required=False)
        if data is None:
            break
        of_epoch, epoch, before = listings.corpus_objects(data, following)
        if epoch in options.epochs:
            files |= {one.place: one for one in of_epoch.objects}
        following = before
    harvest.objects(Listed(list(files.values()), refused))


def harvest_mini_coder(harvest: Harvest, options: Options, base: str, store: Store) -> None:
    """mini-coder: the parquet shards of a dataset repository of a hub, or of a folder or bucket with `data/`."""
    if not isinstance(store, FolderStore | BucketStore):
        harvest.objects(_hub_shards(base, options))
        return
    found = [(key.removeprefix("data/"), size, None, key) for key, size in store.keys("data/")]
    harvest.objects(shard_objects([one for one in found if one[0].endswith(".parquet")], options.limit))


def shard_objects(found: list[tuple[str, int | None, str | None, str]], limit: int | None) -> Listed:
    """Shards as (file name, bytes, SHA-256, address), in name order."""
    refused: dict[str, int] = {}
    objects = []
    for name, size, sha256, address in sorted(found, key=lambda one: one[0]):
        place = listings.safe_place("mini_coder", "data", name)
        if place is None or "/" in name or not name.endswith(".parquet"):
            refused["a shard whose name is no plain name of a parquet file"] = len(refused) + 1
        else:
            objects.append(Remote(address, place, size=size, sha256=sha256))
    return Listed(objects[:limit], refused)


def _hub_shards(base: str, options: Options) -> Listed:
    from huggingface_hub import HfApi, hf_hub_url
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    try:
        api = HfApi(endpoint=base.rstrip("/"), token=options.token or False)
        tree = list(api.list_repo_tree(options.repository, "data", repo_type="dataset"))
    except (HfHubHTTPError, HFValidationError, OSError, ValueError) as error:
        raise AssayError(
            f"{shown(options.repository)} cannot be listed at {shown(base)}: {shown(error).splitlines()[0]}"
        ) from None
    found = []
    for entry in tree:
        path = str(getattr(entry, "path", ""))
        if path.endswith(".parquet"):
            address = hf_hub_url(options.repository, path, repo_type="dataset", endpoint=base.rstrip("/"))
            stored = getattr(entry, "lfs", None)
            sha256 = getattr(stored, "sha256", None) if stored is not None else None
            found.append((path.removeprefix("data/"), getattr(entry, "size", None), sha256, address))
    return shard_objects(found, options.limit)
