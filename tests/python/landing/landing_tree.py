"""Build a raw tree in a folder, land it, read back what landed."""

import atexit
import functools
import gzip
import json
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from assay.landing.run import Report, land_tree
from assay.landing.tables import TABLES
from assay.steps.state import STATE_FILE
from assay.steps.tables import EMPTY_FILE

RUN = "00000000-0000-4000-8000-000000000001"
SAMPLES = f"sn97/runs/{RUN}/generated-samples.jsonl"
SCORES = f"sn97/runs/{RUN}/scoring-results.jsonl"
DUEL = "sn120/evals/chal-00001.json.gz"
CHUNK = "sn120/turns/chunks/chunk_0001_0000.jsonl.gz"
OWN = "trajectories/own.jsonl"
CHECKPOINT = "gateway/fixture/runs/run-a/ckpt/step0150.safetensors"
MINI_CODER = "mini_coder/data/train-00000.parquet"


@functools.cache
def _empty_tables() -> Path:
    root = Path(tempfile.mkdtemp(prefix="assay-landing-"))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    (root / "raw").mkdir()
    land_tree(root / "raw", root / "landing", 1)
    (root / "landing" / STATE_FILE).unlink()
    return root / "landing"


class Tree:
    """A raw root and a landing folder below one temporary folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.raw = folder / "raw"
        self.out = folder / "landing"
        self.raw.mkdir()

    def write(self, name: str, data: bytes) -> Path:
        path = self.raw / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    def write_lines(self, name: str, *records: Any) -> Path:
        """JSON lines; bytes stand as they are, everything else is written as JSON; `.gz` is compressed."""
        data = b"".join((r if type(r) is bytes else json.dumps(r).encode()) + b"\n" for r in records)
        return self.write(name, gzip.compress(data, mtime=0) if name.endswith(".gz") else data)

    def write_json(self, name: str, record: Any) -> Path:
        data = record if type(record) is bytes else json.dumps(record, indent=2).encode()
        return self.write(name, gzip.compress(data, mtime=0) if name.endswith(".gz") else data)

    def write_parquet(self, name: str, table: pa.Table, **options: Any) -> Path:
        path = self.raw / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, path, **options)
        return path

    def land(self, workers: int = 1, max_line_megabytes: int = 256) -> Report:
        """Land, and hold what must always hold: lines = rows + quarantined, no part files, whole lines alone."""
        if not self.out.exists():
            # Writing some fifty empty tables is most of a small run; a copy of them is the same.
            shutil.copytree(_empty_tables(), self.out)
        report = land_tree(self.raw, self.out, workers, max_line_megabytes)
        self.check(report)
        return report

    def check(self, report: Report) -> None:
        assert not list(self.out.rglob("*.part"))
        assert sum(report.reasons.values()) == sum(row["n_quarantined"] or 0 for row in report.artifacts)
        assert self.rows("artifacts") == sorted(self.rows("artifacts"), key=lambda row: str(row["artifact_id"]))
        quarantined: dict[str, set[int]] = {}
        for row in self.rows("quarantine"):
            assert row["file"] == row["artifact_id"]
            assert len(row["excerpt"]) <= 200
            lines = quarantined.setdefault(row["artifact_id"], set())
            assert row["line"] not in lines, "a line is quarantined once"
            lines.add(row["line"])
        landed: dict[str, set[int]] = {}
        for name in TABLES:
            for path in (self.out / name).glob("*.parquet"):
                if path.name != EMPTY_FILE:
                    keys = pq.read_table(path, columns=["artifact_id", "line"])
                    landed.setdefault(keys[0][0].as_py(), set()).update(keys[1].unique().to_pylist())
        for row in report.artifacts:
            identity = row["artifact_id"]
            if row["n_lines"] is not None:
                assert row["n_lines"] == row["n_rows"] + row["n_quarantined"], row
            assert len(quarantined.get(identity, ())) == (row["n_quarantined"] or 0)
            assert len(landed.get(identity, ())) == (row["n_rows"] or 0)
            assert not quarantined.get(identity, set()) & landed.get(identity, set()), "a line lands whole or not"

    def columns(self, table: str, *names: str) -> list[dict[str, Any]]:
        """Some columns of a table, in file and row order."""
        found: list[dict[str, Any]] = []
        for path in sorted((self.out / table).glob("*.parquet")):
            found += pq.read_table(path, columns=list(names)).to_pylist()
        return found

    def rows(self, table: str) -> list[dict[str, Any]]:
        """All rows of a table, in file and row order."""
        found: list[dict[str, Any]] = []
        for path in sorted((self.out / table).glob("*.parquet")):
            found += pq.read_table(path).to_pylist()
        return found

    def values(self, table: str, *names: str) -> list[Any]:
        """One column as values, or some as tuples."""
        rows = self.columns(table, *names)
        if len(names) == 1:
            return [row[names[0]] for row in rows]
        return [tuple(row[name] for name in names) for row in rows]

    def refused(self) -> list[tuple[int, int, str]]:
        """Line, byte offset and reason of what was quarantined."""
        return self.values("quarantine", "line", "byte_offset", "reason")

    def artifact(self, name: str) -> dict[str, Any]:
        return next(row for row in self.rows("artifacts") if row["artifact_id"] == name)


def sample(sample_id: str = "a", **fields: Any) -> dict[str, Any]:
    return {"sample_id": sample_id, "prompt": "p", **fields}


def own(identity: str = "a", content: str = "x", **fields: Any) -> dict[str, Any]:
    return {"id": identity, "messages": [{"role": "user", "content": content}], **fields}


def score(sample_id: str = "a", **fields: Any) -> dict[str, Any]:
    return {"sample_id": sample_id, "scored": True, "questions": [], "judge_results": [], **fields}


def judge(side: str = "challenger", **fields: Any) -> dict[str, Any]:
    return {"side": side, "judge_model": "m", "answers": {}, "explanations": {}, **fields}


def json_lines(records: Iterable[Any]) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)
