"""Small published sites as the real ones lay them out: duels, teacher records with a corpus, shards."""

import gzip
import hashlib
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

RUNS = ("0aaa-1", "0bbb-2", "0ccc-3")


def write(path: Path, data: bytes) -> bytes:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return data


def duels(root: Path, host: str) -> dict[str, bytes]:
    """A dashboard, three runs of two files and a fault; returns the expected raw tree."""
    expected, entries = {}, []
    for day, run in enumerate(RUNS, 1):
        prefix, artifacts = f"albedo/albedo-eval-service/submissions/s{day}/eval/{run}", {}
        for kind, name in (("GENERATED_SAMPLES", "generated-samples.jsonl"), ("EVAL_VERDICT", "verdict.json")):
            body = b'{"run": "%s"}\n' % run.encode() * (1 if name.endswith("json") else 500)
            expected[f"sn97/runs/{run}/{name}"] = write(root / prefix / name, body)
            artifacts[kind] = f"{host}/{prefix}/{name}"
        entries.append({"eval_run_id": run, "finished_at": f"2026-08-2{day}T09:00:00+00:00", "artifacts": artifacts})
    fault = "albedo/sanity/s9/sha256_00/fault.json"
    expected["sn97/sanity/s9/sha256_00/fault.json"] = write(root / fault, b'{"reason": "x"}')
    fails = [{"updated_at": "2026-08-22T10:00:00+00:00", "artifacts": {"SANITY_RESULT": f"{host}/{fault}"}}]
    listing = {"updated_at": "2026-08-24T00:00:00+00:00", "eval_runs": entries, "fails": fails}
    expected["sn97/data/dashboard.json"] = write(root / "data" / "dashboard.json", json.dumps(listing).encode())
    expected["sn97/data/state.json"] = write(root / "data" / "state.json", b'{"counts": {}}')
    return expected


def teacher(root: Path) -> dict[str, bytes]:
    """Two records, two manifests, a chunk and an index for each epoch; returns the raw tree of the current epoch."""
    expected = {}
    lines = []
    for number in (760, 761):
        data = gzip.compress(b'{"job_id": "duel-%d"}' % number, mtime=0)
        key = f"evals/chal-{number:05d}.json.gz"
        expected[f"sn120/{key}"] = write(root / key, data)
        lines.append({"key": key, "bytes": len(data), "at": f"2026-08-{17 + number - 760}T02:00:00.000000+00:00"})
    index = "".join(json.dumps(line) + "\n" for line in lines).encode()
    expected["sn120/evals/index.jsonl"] = write(root / "evals" / "index.jsonl", index)
    before = None
    for epoch in (12, 13):
        text = b'{"traj_id": "t%d"}\n' % epoch * 50
        chunk_key, index_key = f"turns/chunks/chunk_{epoch:04d}_0000.jsonl.gz", f"turns/index/turns_{epoch:04d}.parquet"
        files = {f"sn120/{chunk_key}": write(root / chunk_key, gzip.compress(text, mtime=0))}
        (root / "turns" / "index").mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"turn_id": [f"t{epoch}:0"]}), root / index_key)
        files[f"sn120/{index_key}"] = (root / index_key).read_bytes()
        manifest = {
            "corpus_epoch": epoch,
            "index": {"key": index_key, "sha256": hashlib.sha256(files[f"sn120/{index_key}"]).hexdigest()},
            "shards": [
                {"key": chunk_key, "sha256": hashlib.sha256(text).hexdigest(), "active": True},
                {"key": "turns/chunks/gone.jsonl.gz", "sha256": "0" * 64, "active": False},
            ],
            "prev_manifest": before,
        }
        data = json.dumps(manifest, indent=2, sort_keys=True).encode()
        before = f"turns/manifests/{hashlib.sha256(data).hexdigest()}.json"
        expected[f"sn120/{before}"] = write(root / before, data)
        expected["sn120/turns/manifest.json"] = write(root / "turns" / "manifest.json", data)
        if epoch == 13:
            expected |= files
    return expected


def shards(root: Path) -> dict[str, bytes]:
    """Two parquet shards below `data/`; returns the raw tree."""
    (root / "data").mkdir(parents=True, exist_ok=True)
    for number in range(2):
        pq.write_table(pa.table({"instance_id": [f"i{number}"]}), root / "data" / f"train-0000{number}.parquet")
    return {f"mini_coder/data/{path.name}": path.read_bytes() for path in (root / "data").glob("*.parquet")}


def tree(root: Path) -> dict[str, bytes]:
    """What lies below a raw root, without what the harvest keeps for itself."""
    files = (path for path in root.rglob("*") if path.is_file())
    found = {path.relative_to(root).as_posix(): path.read_bytes() for path in files}
    return {name: data for name, data in found.items() if not name.startswith(".harvest/")}
