"""How long the teacher set takes at the size of the seed's, from gz to rows, and in how much memory.

Usage: python bench/teacher.py [--records 230] [--turns 49577] [--references 816661] [--memory 2GB] [--keep FOLDER]

The generator's own corpus is small, so its trajectories are multiplied under new ids and its references are dealt out
again over as many duel records as asked for; every prompt, every thought and three commands in ten are different texts
(as many as real commands that the fast check leaves to bash). Prints wall seconds a stage, tokenizing apart, and the
largest memory of the whole process tree. Nothing is cached at the start.
"""

import argparse
import gzip
import hashlib
import json
import os
import random
import shutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from measure import measure

_GENERATOR = [sys.executable, str(Path(__file__).parent / "generator")]
_DBT = [sys.executable, "-m", "dbt.cli.main"]
_TRAJECTORIES_A_CHUNK = 1000
_LEFT_TO_BASH = 0.31
_EPOCH = 13

Record = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=230)
    parser.add_argument("--turns", type=int, default=49_577)
    parser.add_argument("--references", type=int, default=816_661)
    parser.add_argument("--memory", default="2GB", help="memory limit of DuckDB")
    parser.add_argument(
        "--keep", type=Path, help="work in this folder and leave it; a tree that is there is used again"
    )
    arguments = parser.parse_args()
    if arguments.keep:
        bench(arguments.keep, arguments)
        return
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        bench(Path(folder), arguments)


def bench(folder: Path, arguments: argparse.Namespace) -> None:
    raw = folder / "raw"
    if not (raw / "sn120" / "evals" / "index.jsonl").exists():
        base = folder / "base"
        sizes = ["--duels", "24", "--turns", "1300", "--references", "3", "--seed", "1"]
        measure([*_GENERATOR, "--out", str(base), "--sources", "sn120,tokenizer", *sizes])
        multiply(base, raw, arguments.records, arguments.turns, arguments.references)
    compressed = sum(path.stat().st_size for path in raw.rglob("*") if path.is_file())
    print(f"raw tree: {compressed / 1e6:.0f} MB in {sum(1 for _ in (raw / 'sn120' / 'evals').iterdir())} evals files")
    environment = {
        **os.environ,
        "ASSAY_RAW_ROOT": str(raw),
        "ASSAY_DB": str(folder / "warehouse.duckdb"),
        "ASSAY_EXPORTS": str(folder / "exports"),
        "ASSAY_MEMORY": arguments.memory,
        "DBT_TARGET_PATH": str(folder / "target"),
        "DBT_LOG_PATH": str(folder / "logs"),
    }
    for name in ("warehouse.duckdb.landing", "exports"):
        shutil.rmtree(folder / name, ignore_errors=True)
    (folder / "warehouse.duckdb").unlink(missing_ok=True)
    measure([*_DBT, "parse"], environment)
    select = ["--select", "+path:models/exports/teacher", "+path:models/marts/teacher", "--resource-type", "model"]
    measure([*_DBT, "seed", "--select", "path:seeds"], environment)
    for title in ("from nothing", "again"):
        measured = measure([*_DBT, "build", *select], environment)
        report(title, measured.seconds, measured.peak_mebibytes, folder / "target" / "run_results.json")


def report(title: str, seconds: float, peak: float, results: Path) -> None:
    stages = {
        one["unique_id"].rpartition(".")[2]: one["execution_time"] for one in json.loads(results.read_text())["results"]
    }
    tokens, export = stages.get("int_prompt_tokens", 0.0), stages.get("teacher_export", 0.0)
    print(f"{title}: {seconds:.0f} s in all, peak {peak:.0f} MiB")
    print(f"  tokenizing {tokens:.0f} s, exports {export:.0f} s, everything else {seconds - tokens - export:.0f} s")
    for name, took in sorted(stages.items(), key=lambda item: -item[1])[:14]:
        print(f"  {took:8.1f} s  {name}")


# ---- the set


def multiply(base: Path, raw: Path, records: int, turns: int, references: int) -> None:
    """Write a tree of epoch 13 with about `turns` pooled turns and `references` references over `records` records."""
    shutil.rmtree(raw, ignore_errors=True)
    bucket = raw / "sn120"
    (bucket / "evals").mkdir(parents=True)
    shutil.copytree(base / "tokenizer", raw / "tokenizer")
    generator = random.Random(13)
    index = pq.read_table(base / "sn120" / "turns" / "index" / f"turns_{_EPOCH:04d}.parquet").to_pylist()
    copies = -(-turns // len(index))
    trajectories = list(_trajectories(base))
    rows, manifest_sha256 = _write_corpus(bucket, trajectories, index, copies, turns)
    held, played = _bank(base)
    ids = [row["turn_id"] for row in rows]
    asked, lines = references / records / 3, []
    for number in range(records):
        drawn = generator.sample(ids, min(len(ids), int(asked * (number + 1)) - int(asked * number)))
        name = f"chal-{760 + number:05d}"
        record = _record(name, drawn, held, played, manifest_sha256, generator)
        data = gzip.compress(json.dumps(record, ensure_ascii=False).encode(), 1, mtime=0)
        (bucket / "evals" / f"{name}.json.gz").write_bytes(data)
        lines.append({"key": f"evals/{name}.json.gz", "bytes": len(data), "at": "2026-08-23T00:00:00.000000+00:00",
                      "challenge_id": name, "repo": "invented/challenger", "revision": "0" * 40, "hotkey": "5F",
                      "challenger_wins": False, "z": None, "margin": None, "rejection_reason": None})  # fmt: skip
    (bucket / "evals" / "index.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def _trajectories(base: Path) -> Iterator[Record]:
    for path in sorted((base / "sn120" / "turns" / "chunks").glob(f"chunk_{_EPOCH:04d}_*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8", newline="\n") as lines:
            yield from map(json.loads, lines)


def _write_corpus(
    bucket: Path, trajectories: list[Record], index: list[Record], copies: int, turns: int
) -> tuple[list[Record], str]:
    """Every trajectory under `copies` ids, each with a first message of its own; returns index rows, manifest hash."""
    by_trajectory: dict[str, list[Record]] = defaultdict(list)
    for row in index:
        by_trajectory[row["traj_id"]].append(row)
    rows: list[Record] = []
    entries: list[Record] = []
    chunk: list[str] = []

    def end_chunk() -> None:
        key = f"turns/chunks/chunk_{_EPOCH:04d}_{len(entries):04d}.jsonl.gz"
        data = "".join(chunk).encode()
        path = bucket / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(data, 1, mtime=0))
        entries.append({"active": True, "format": "traj_v1", "key": key, "n_trajectories": len(chunk), "n_turns": 0,
                        "sha256": hashlib.sha256(data).hexdigest()})  # fmt: skip
        chunk.clear()

    for copy in range(copies):
        for trajectory in trajectories:
            if len(rows) >= turns:
                break
            traj_id, mark = f"{trajectory['traj_id']}{copy:02x}", f"\n\nTask {copy}.{len(chunk)}"
            messages = [dict(message) for message in trajectory["messages"]]
            messages[1]["content"] += mark
            chunk.append(
                json.dumps({**trajectory, "traj_id": traj_id, "messages": messages}, ensure_ascii=False) + "\n"
            )
            key = f"turns/chunks/chunk_{_EPOCH:04d}_{len(entries):04d}.jsonl.gz"
            for row in by_trajectory[trajectory["traj_id"]][: turns - len(rows)]:
                place = {"traj_id": traj_id, "turn_id": f"{traj_id}:{row['turn_idx']}", "chunk_key": key}
                length = row["n_prefix_chars"] + len(mark)
                rows.append({**row, **place, "traj_line": len(chunk) - 1, "n_prefix_chars": length})
            if len(chunk) == _TRAJECTORIES_A_CHUNK:
                end_chunk()
    if chunk:
        end_chunk()
    index_key = f"turns/index/turns_{_EPOCH:04d}.parquet"
    (bucket / index_key).parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), bucket / index_key, compression="zstd")
    digest = hashlib.sha256((bucket / index_key).read_bytes()).hexdigest()
    manifest = {"corpus_epoch": _EPOCH, "schema_version": 2, "created_at": "2026-08-15T00:00:00+00:00",
                "index": {"key": index_key, "sha256": digest, "n_turns": len(rows)}, "shards": entries,
                "prev_manifest": None}  # fmt: skip
    data = json.dumps(manifest, indent=2, sort_keys=True).encode()
    sha256 = hashlib.sha256(data).hexdigest()
    (bucket / "turns" / "manifests").mkdir()
    (bucket / "turns" / "manifests" / f"{sha256}.json").write_bytes(data)
    (bucket / "turns" / "manifest.json").write_bytes(data)
    return rows, sha256


def _bank(base: Path) -> tuple[dict[str, list[Record]], dict[str, dict[str, Record]]]:
    """References of every turn of the base, and a valid row of either side."""
    held: dict[str, list[Record]] = defaultdict(list)
    played: dict[str, dict[str, Record]] = defaultdict(dict)
    for path in sorted((base / "sn120" / "evals").glob("chal-*.json.gz")):
        record = json.loads(gzip.decompress(path.read_bytes()))
        if record["slice"]["corpus_epoch"] != _EPOCH or "teacher_refs" not in record:
            continue
        for turn_id, found in record["teacher_refs"].items():
            held[turn_id] += found
        for side in ("king", "challenger"):
            for row in record[f"{side}_rows"]:
                if row["valid"] and len(row["pairs"]) == 3:
                    played[row["turn_id"]].setdefault(side, row)
    return held, played


def _record(
    name: str,
    drawn: list[str],
    held: dict[str, list[Record]],
    played: dict[str, dict[str, Record]],
    manifest_sha256: str,
    generator: random.Random,
) -> Record:
    references: dict[str, list[Record]] = {}
    rows: dict[str, list[Record]] = {"king": [], "challenger": []}
    for turn_id in drawn:
        traj_id, _, turn = turn_id.rpartition(":")
        base_id = f"{traj_id[:-2]}:{turn}"
        bank = held.get(base_id) or next(iter(held.values()))
        references[turn_id] = []
        for _ in range(3):
            chosen, mark = generator.choice(bank), f"{generator.getrandbits(48):x}"
            action = chosen["y"]
            if generator.random() < _LEFT_TO_BASH:
                action = f"{action[:-4]} # {mark}\n```"
            own = chosen["lp_own"] + generator.random() * 1e-3
            references[turn_id].append({"z": f"{chosen['z']} Seen at {mark}.", "y": action, "lp_own": own,
                                        "lp_empty": chosen["lp_empty"]})  # fmt: skip
        sides = played.get(base_id, {})
        for side, row in sides.items():
            rows[side].append({**row, "turn_id": turn_id})
    cut = {"seed": generator.getrandbits(64), "n": len(drawn), "digest": "0" * 64, "block_hash": "0x" + "0" * 64,
           "corpus_epoch": _EPOCH, "manifest_sha256": manifest_sha256}  # fmt: skip
    request = {"king_repo": "invented/king", "king_revision": "0" * 40, "challenger_repo": "invented/challenger",
               "challenger_revision": "0" * 40, "challenger_hotkey": "5F", "block_hash": cut["block_hash"],
               "challenger_weight_bytes": 7}  # fmt: skip
    parameters = {"n_turns": len(drawn), "k_sigma": 2.0, "min_margin": 0.002, "min_thought_chars": 80, "tau": 0.03,
                  "causality_gate": True, "causality_gamma": 0.3, "n_teacher_samples": 3}  # fmt: skip
    verdict = {"challenger_wins": False, "margin": None, "se": None, "z": None, "k_sigma": 2.0, "min_margin": 0.002,
               "n_paired_turns": 0, "duel_params": parameters, "slice": cut, "job_id": name,
               "rejection_reason": None}  # fmt: skip
    return {"job_id": name, "request": request, "verdict": verdict, "slice": cut, "turn_ids": drawn,
            "teacher_refs": references, "king_rows": rows["king"], "challenger_rows": rows["challenger"]}  # fmt: skip


if __name__ == "__main__":
    main()
