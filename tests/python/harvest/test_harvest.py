"""Whole harvests from real local servers: byte for byte what is published, once, and nothing that is not."""

import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import published
import pytest
from assay.errors import AssayError
from assay.harvest import listings
from assay.harvest.fetch import Limits
from assay.harvest.run import FOLDER, Options, Report, harvest
from faulty_server import Site, serving

QUICK = Limits(1 << 30, attempts=4, longest_wait=0.02)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    (tmp_path / "site").mkdir()
    with serving(tmp_path / "site") as served:
        yield served


def _harvest(source: str, base: str, raw: Path, **options: Any) -> Report:
    return harvest(source, base, raw, Options(**options), limits=QUICK)


def test_duels_come_byte_for_byte_and_a_second_harvest_asks_for_the_listings_alone(site: Site, tmp_path: Path) -> None:
    expected = published.duels(site.root, site.base.rstrip("/"))
    report = _harvest("sn97", site.base, tmp_path / "raw")
    assert published.tree(tmp_path / "raw") == expected
    assert (report.listed, report.fetched, report.present, report.faults, report.missing) == (7, 7, 0, [], [])
    site.asked.clear()
    again = _harvest("sn97", site.base, tmp_path / "raw")
    assert (again.fetched, again.present, again.transferred) == (0, 7, 0)
    assert sorted(path for path, _, _ in site.asked) == ["data/dashboard.json", "data/state.json"]
    lines = (tmp_path / "raw" / FOLDER / "sn97.jsonl").read_text().splitlines()
    assert {json.loads(line)["place"] for line in lines} == expected.keys()
    assert all(datetime.fromisoformat(json.loads(line)["fetched_at"]).tzinfo for line in lines)


def test_every_fault_at_once_still_gives_the_published_bytes(site: Site, tmp_path: Path) -> None:
    expected = published.duels(site.root, site.base.rstrip("/"))
    faults = [[("429", 1)], [("500", 2)], [("cut", 1)], [("longer", 1)], [("slow", 1)], [("cut", 1), ("no range", 1)]]
    paths = sorted(path.relative_to(site.root).as_posix() for path in site.root.rglob("*.jsonl"))
    paths += sorted(path.relative_to(site.root).as_posix() for path in site.root.rglob("verdict.json"))
    site.faults = dict(zip(paths, faults, strict=True)) | {"data/dashboard.json": [("503", 1), ("cut", 1)]}
    report = _harvest("sn97", site.base, tmp_path / "raw")
    assert (report.faults, report.missing) == ([], [])
    assert published.tree(tmp_path / "raw") == expected
    assert list((tmp_path / "raw" / FOLDER / "parts").iterdir()) == []


def test_one_bad_object_is_named_and_the_others_come(site: Site, tmp_path: Path) -> None:
    expected = published.duels(site.root, site.base.rstrip("/"))
    bad, gone = sorted(path for path in expected if path.endswith(".jsonl"))[:2]
    paths = {path.name: path for path in site.root.rglob("eval/*")}
    bad_path, gone_path = (paths[name.split("/")[2]] / "generated-samples.jsonl" for name in (bad, gone))
    bad_path.write_bytes(b'{"cut in the mid')
    gone_path.unlink()
    report = _harvest("sn97", site.base, tmp_path / "raw")
    assert len(report.faults) == 1 and "ends in the middle of a line" in report.faults[0]
    assert len(report.missing) == 1 and "answered 404" in report.missing[0]
    assert published.tree(tmp_path / "raw") == {k: v for k, v in expected.items() if k not in (bad, gone)}


def test_what_vanished_upstream_stays(site: Site, tmp_path: Path) -> None:
    expected = published.duels(site.root, site.base.rstrip("/"))
    _harvest("sn97", site.base, tmp_path / "raw")
    listing = json.loads((site.root / "data" / "dashboard.json").read_text())
    listing["eval_runs"] = listing["eval_runs"][:1]
    expected["sn97/data/dashboard.json"] = published.write(
        site.root / "data" / "dashboard.json", json.dumps(listing).encode()
    )
    report = _harvest("sn97", site.base, tmp_path / "raw")
    assert (report.listed, report.present) == (3, 3)
    assert published.tree(tmp_path / "raw") == expected


def test_since_limit_and_dry_run(site: Site, tmp_path: Path) -> None:
    published.duels(site.root, site.base.rstrip("/"))
    dry = _harvest("sn97", site.base, tmp_path / "raw", dry_run=True)
    assert len(dry.to_fetch) == 7 and not (tmp_path / "raw").exists()
    newest = _harvest("sn97", site.base, tmp_path / "newest", limit=1)
    assert {path.split("/")[2] for path in published.tree(tmp_path / "newest") if "/runs/" in path} == {"0ccc-3"}
    assert newest.fetched == 3
    since = datetime(2026, 8, 22, 9, tzinfo=UTC)
    _harvest("sn97", site.base, tmp_path / "since", since=since)
    runs = {path.split("/")[2] for path in published.tree(tmp_path / "since") if "/runs/" in path}
    assert runs == {"0bbb-2", "0ccc-3"}


def test_a_mirror_and_a_folder_have_the_published_paths(site: Site, tmp_path: Path) -> None:
    expected = published.duels(site.root, "https://s3.example.org")
    _harvest("sn97", site.base, tmp_path / "mirror", mirror=True)
    _harvest("sn97", str(site.root), tmp_path / "folder")
    assert published.tree(tmp_path / "mirror") == published.tree(tmp_path / "folder") == expected


def test_records_manifests_and_the_current_corpus(site: Site, tmp_path: Path) -> None:
    expected = published.teacher(site.root)
    report = _harvest("sn120", site.base, tmp_path / "raw")
    assert (report.faults, report.missing, report.refused) == ([], [], {})
    assert published.tree(tmp_path / "raw") == expected
    _harvest("sn120", site.base, tmp_path / "raw", epochs=(12,))
    more = published.tree(tmp_path / "raw").keys() - expected.keys()
    assert more == {"sn120/turns/chunks/chunk_0012_0000.jsonl.gz", "sn120/turns/index/turns_0012.parquet"}
    # A chunk of other lines than its manifest promises never reaches the raw tree.
    chunk = next((site.root / "turns" / "chunks").glob("chunk_0013*"))
    chunk.write_bytes((site.root / "turns" / "chunks" / "chunk_0012_0000.jsonl.gz").read_bytes())
    wrong = _harvest("sn120", site.base, tmp_path / "other")
    assert len(wrong.faults) == 1 and "its manifest says" in wrong.faults[0]
    assert not (tmp_path / "other" / "sn120" / "turns" / "chunks").exists()


def test_shards_of_a_folder_and_of_a_hub(site: Site, tmp_path: Path) -> None:
    expected = published.shards(site.root / "datasets" / "who" / "what" / "resolve" / "main")
    _harvest("mini-coder", str(site.root / "datasets" / "who" / "what" / "resolve" / "main"), tmp_path / "folder")
    assert published.tree(tmp_path / "folder") == expected
    entries = [
        {"type": "file", "path": f"data/{name.rpartition('/')[2]}", "size": len(data), "oid": "0" * 40}
        for name, data in sorted(expected.items())
    ]
    published.write(site.root / "api/datasets/who/what/tree/main/data", json.dumps(entries).encode())
    _harvest("mini-coder", site.base, tmp_path / "hub", repository="who/what")
    assert published.tree(tmp_path / "hub") == expected


def test_a_bucket_of_a_real_server(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moto = pytest.importorskip("moto.server", reason="needs moto[server], an S3 server")
    obstore = pytest.importorskip("obstore", reason="needs the extra harvest")
    expected = published.teacher(site.root)
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        endpoint = "http://{}:{}".format(*server.get_host_and_port())
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        import urllib3
        from obstore.store import S3Store

        assert urllib3.request("PUT", f"{endpoint}/affine").status == 200
        store: Any = S3Store("affine", endpoint=endpoint, region="us-east-1", client_options={"allow_http": True})
        for path in site.root.rglob("*"):
            if path.is_file():
                obstore.put(store, f"pre/{path.relative_to(site.root).as_posix()}", path.read_bytes())
        report = _harvest("sn120", "s3://affine/pre", tmp_path / "raw", endpoint=endpoint)
        assert (report.faults, report.missing) == ([], [])
        assert published.tree(tmp_path / "raw") == expected
        assert _harvest("sn120", "s3://affine/pre", tmp_path / "raw", endpoint=endpoint).transferred == 0
        with pytest.raises(AssayError, match="there is no listing"):
            _harvest("sn120", "s3://affine/elsewhere", tmp_path / "none", endpoint=endpoint)
    finally:
        server.stop()


def test_an_interrupt_keeps_what_came_and_the_next_harvest_goes_on(site: Site, tmp_path: Path) -> None:
    expected = published.duels(site.root, site.base.rstrip("/"))
    paths = sorted(path.relative_to(site.root).as_posix() for path in site.root.rglob("*.jsonl"))
    site.faults = {path: [("slow", 1)] for path in paths}
    main, once = threading.get_ident(), threading.Event()

    def interrupt(done: int, total: int, count: int) -> None:
        if threading.get_ident() == main and not once.is_set():
            once.set()
            raise KeyboardInterrupt

    report = harvest("sn97", site.base, tmp_path / "raw", Options(workers=2), interrupt, QUICK)
    assert report.stopped
    assert not _harvest("sn97", site.base, tmp_path / "raw").stopped
    assert published.tree(tmp_path / "raw") == expected


def test_a_changed_file_of_the_same_size_is_found_by_verify(site: Site, tmp_path: Path) -> None:
    expected = published.duels(site.root, site.base.rstrip("/"))
    _harvest("sn97", site.base, tmp_path / "raw")
    path = tmp_path / "raw" / next(name for name in expected if name.endswith("verdict.json"))
    path.write_bytes(path.read_bytes().replace(b"run", b"nur"))
    assert _harvest("sn97", site.base, tmp_path / "raw").fetched == 0
    assert _harvest("sn97", site.base, tmp_path / "raw", verify=True).fetched == 1
    assert published.tree(tmp_path / "raw") == expected


@pytest.mark.parametrize("run", ["../../evil", "..", "a/../../b", "", "a b", "\x1b[2J", "x" * 300, None, 7])
def test_names_of_a_listing_never_leave_the_raw_root(site: Site, tmp_path: Path, run: Any) -> None:
    published.write(site.root / "x" / "verdict.json", b"{}")
    entry = {"eval_run_id": run, "finished_at": None, "artifacts": {"EVAL_VERDICT": f"{site.base}x/verdict.json"}}
    other = {
        "eval_run_id": "r",
        "artifacts": {"A": "file:///etc/passwd", "B": 7, "C": f"{site.base}x/%2e%2e%2fverdict.json"},
    }
    listing = {"eval_runs": [entry, other, "text"], "fails": "none"}
    published.write(site.root / "data" / "dashboard.json", json.dumps(listing).encode())
    report = _harvest("sn97", site.base, tmp_path / "raw")
    assert sum(report.refused.values()) == 4
    assert not any("/runs/" in name for name in published.tree(tmp_path / "raw"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["raw", "site"]


@pytest.mark.parametrize(
    "data", [b"", b"<html>", b"[]", b"[" * 100_000, b'{"eval_runs": 3, "fails": null}', b"\xff\xfe{"]
)
def test_listings_that_are_none(data: bytes) -> None:
    if data.startswith(b'{"'):
        assert listings.duel_objects(data, None, None).objects == []
    else:
        with pytest.raises(AssayError, match=r"data/dashboard\.json is not"):
            listings.duel_objects(data, None, None)


def test_a_site_without_a_listing_is_one_sentence(site: Site, tmp_path: Path) -> None:
    with pytest.raises(AssayError, match=r"there is no listing .* answered 404: is the base address right\?"):
        _harvest("sn97", site.base, tmp_path / "raw")
    with pytest.raises(AssayError, match="name the site's address with --base"):
        harvest("sn97", None, tmp_path / "raw", Options())
