"""One object from a real server with every fault that servers have: right bytes in place, or one sentence and none."""

import gzip
import hashlib
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from assay.errors import AssayError
from assay.harvest.fetch import Limits, StoppedError, fetch
from assay.harvest.listings import Remote
from assay.harvest.stores import FolderStore, MissingError, Store, WebStore, store_of
from faulty_server import Site, serving

TEXT = b"".join(b'{"line": %d, "text": "old"}\n' % number for number in range(40_000))
LIMITS = Limits(largest_bytes=1 << 30, attempts=4, longest_wait=0.02)
LINES = Remote("runs/lines.jsonl", "sn97/runs/r/lines.jsonl")


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    folder = tmp_path / "site"
    (folder / "runs").mkdir(parents=True)
    (folder / "runs" / "lines.jsonl").write_bytes(TEXT)
    with serving(folder) as served:
        yield served


def _fetch(site: Site, tmp_path: Path, remote: Remote = LINES, limits: Limits = LIMITS) -> bytes:
    target, part = tmp_path / "raw" / remote.place, tmp_path / "part"
    fetch(WebStore(site.base), remote, target, part, limits)
    assert not part.exists()
    return target.read_bytes()


@pytest.mark.parametrize(
    "faults",
    [
        [],
        [("429", 2)],
        [("500", 1), ("503", 1)],
        [("cut", 1)],
        [("cut", 3)],
        [("longer", 1)],
        [("cut", 1), ("no range", 1)],
        [("slow", 1)],
    ],
    ids=lambda faults: " then ".join(f"{kind} {times}" for kind, times in faults) or "none",
)
def test_faults_that_pass_leave_the_very_bytes(site: Site, tmp_path: Path, faults: list[tuple[str, int]]) -> None:
    site.faults[LINES.address] = faults
    assert _fetch(site, tmp_path) == TEXT


def test_a_cut_body_goes_on_where_it_ended(site: Site, tmp_path: Path) -> None:
    site.faults[LINES.address] = [("cut", 1)]
    _fetch(site, tmp_path)
    first, second = site.asked
    assert first[1] is None
    assert second[1] is not None and 0 < int(second[1].removeprefix("bytes=").rstrip("-")) <= len(TEXT) // 2


def test_an_object_that_changes_while_it_comes_is_the_new_one_whole(site: Site, tmp_path: Path) -> None:
    site.faults[LINES.address] = [("changed", 1)]
    assert _fetch(site, tmp_path) == TEXT.replace(b"old", b"new")


def test_a_store_that_stays_away_is_one_sentence_and_what_came_is_kept(site: Site, tmp_path: Path) -> None:
    site.faults[LINES.address] = [("cut", 1), ("503", 99)]
    with pytest.raises(AssayError, match=r"answered 503, 4 times: try again later; what came over is kept"):
        _fetch(site, tmp_path)
    assert (tmp_path / "part").stat().st_size == len(TEXT) // 2
    site.faults.clear()
    assert _fetch(site, tmp_path) == TEXT
    assert site.asked[-1][1] == f"bytes={len(TEXT) // 2}-"


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("shorter", "ends in the middle of a line"),
        ("bomb", "is sent compressed although it was asked for as it is"),
        ("endless", "sends more than the 5,000,000 bytes that it may have"),
        ("404", "answered 404"),
        ("403", "answered 403"),
        ("redirect file:///etc/passwd", "redirects to file:///etc/passwd: only https"),
        ("redirect ftp://example.org/x", "redirects to ftp://example.org/x: only https"),
        ("redirect http://10.0.0.7/x", "leads to 10.0.0.7, which is no public address"),
        ("redirect http://[::1]:9/x", "leads to ::1, which is no public address"),
        ("redirect http://169.254.169.254/latest", "leads to 169.254.169.254, which is no public address"),
    ],
)
def test_what_no_retry_mends_is_one_sentence_and_no_file(site: Site, tmp_path: Path, fault: str, words: str) -> None:
    site.faults[LINES.address] = [(fault, 99)]
    with pytest.raises((AssayError, MissingError)) as said:
        _fetch(site, tmp_path, limits=Limits(5_000_000, attempts=2, longest_wait=0.01))
    assert words in str(said.value)
    assert not (tmp_path / "raw").exists()


def test_a_redirect_on_the_same_host_is_followed(site: Site, tmp_path: Path) -> None:
    site.faults["moved"] = [("redirect /runs/lines.jsonl", 9)]
    assert _fetch(site, tmp_path, Remote("moved", "sn97/runs/r/lines.jsonl")) == TEXT
    site.faults["round"] = [("redirect /round", 99)]
    with pytest.raises(AssayError, match="redirects more than 5 times"):
        _fetch(site, tmp_path, Remote("round", "x.jsonl"))


def test_what_the_listing_says_of_size_and_hash_is_held(site: Site, tmp_path: Path) -> None:
    right = hashlib.sha256(TEXT).hexdigest()
    assert _fetch(site, tmp_path, Remote(LINES.address, "a.jsonl", size=len(TEXT), sha256=right)) == TEXT
    with pytest.raises(AssayError, match=rf"has {len(TEXT):,} bytes, its listing says 7"):
        _fetch(site, tmp_path, Remote(LINES.address, "b.jsonl", size=7))
    with pytest.raises(AssayError, match=f"has the SHA-256 {right}, its listing says {'0' * 64}"):
        _fetch(site, tmp_path, Remote(LINES.address, "c.jsonl", sha256="0" * 64))
    with pytest.raises(AssayError, match="more than the limit of 10"):
        _fetch(site, tmp_path, limits=Limits(10, attempts=1))
    assert sorted(path.name for path in (tmp_path / "raw").iterdir()) == ["a.jsonl"]
    assert not (tmp_path / "part").exists()


def test_a_gzip_has_its_end_its_check_sum_and_the_lines_that_were_promised(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay.harvest.fetch.SMALL_CONTENT", 4 << 20)
    whole = gzip.compress(TEXT)
    held = hashlib.sha256(TEXT).hexdigest()
    names = {"whole": whole, "two": whole + gzip.compress(b"more\n"), "cut": whole[:-9], "text": TEXT, "empty": b""}
    names["bomb"] = gzip.compress(bytes(8 << 20))
    for name, data in names.items():
        (site.root / f"{name}.gz").write_bytes(data)
    assert _fetch(site, tmp_path, Remote("whole.gz", "a.jsonl.gz", content_sha256=held)) == whole
    assert _fetch(site, tmp_path, Remote("two.gz", "two.gz")) == names["two"]
    for name, words in {
        "cut": "ends in the middle of a gzip",
        "text": "is no whole gzip",
        "empty": "ends in the middle of a gzip",
        "bomb": "unfolds to more than",
    }.items():
        with pytest.raises(AssayError, match=words):
            _fetch(site, tmp_path, Remote(f"{name}.gz", f"{name}.gz"))
    with pytest.raises(AssayError, match="holds lines with the SHA-256"):
        _fetch(site, tmp_path, Remote("whole.gz", "b.gz", content_sha256="0" * 64))


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [("a.json", b'{"a": 1', "middle of a JSON document"), ("a.parquet", b"PAR1 no end", "no end of a parquet file")],
)
def test_other_files_have_an_end_too(site: Site, tmp_path: Path, name: str, data: bytes, words: str) -> None:
    (site.root / name).write_bytes(data)
    with pytest.raises(AssayError, match=words):
        _fetch(site, tmp_path, Remote(name, name))


def test_a_stop_keeps_what_came_and_the_next_call_goes_on(site: Site, tmp_path: Path) -> None:
    stop = threading.Event()
    target, part = tmp_path / "raw" / "a.jsonl", tmp_path / "part"
    site.faults[LINES.address] = [("slow", 1)]
    with pytest.raises(StoppedError):
        fetch(WebStore(site.base), LINES, target, part, LIMITS, stop=stop, progress=lambda _: stop.set())
    assert 0 < part.stat().st_size < len(TEXT)
    assert not target.exists()
    assert fetch(WebStore(site.base), LINES, target, part, LIMITS).transferred < len(TEXT)
    assert target.read_bytes() == TEXT


def test_an_unchanged_object_is_not_sent_again(site: Site, tmp_path: Path) -> None:
    target, part = tmp_path / "a.jsonl", tmp_path / "part"
    for store in (WebStore(site.base), FolderStore(site.root)):
        target.unlink(missing_ok=True)
        first = fetch(store, LINES, target, part, LIMITS)
        again = fetch(store, LINES, target, part, LIMITS, first.validator)
        assert (again.unchanged, again.transferred) == (True, 0)
    (site.root / LINES.address).write_bytes(TEXT + b"more\n")
    assert not fetch(WebStore(site.base), LINES, target, part, LIMITS, first.validator).unchanged
    assert target.read_bytes() == TEXT + b"more\n"


@pytest.mark.parametrize("address", ["../secret.jsonl", "runs/../../secret.jsonl", "/etc/hostname", "http://h/../../x"])
def test_a_folder_gives_nothing_from_outside(site: Site, tmp_path: Path, address: str) -> None:
    (tmp_path / "secret.jsonl").write_text("secret\n")
    store: Store = FolderStore(site.root)
    with pytest.raises(MissingError), store.open(address):
        pass


def test_a_base_is_an_address_or_a_folder(tmp_path: Path) -> None:
    with pytest.raises(AssayError, match="is not a folder"):
        store_of(str(tmp_path / "absent"))
    with pytest.raises(AssayError, match="name an http, https or s3 address, or a folder"):
        store_of("ftp://example.org")
    with pytest.raises(AssayError, match="names no bucket"):
        store_of("s3://")
