"""How fast proven mixes become files, how fast masks are proven, and in how much memory, beside one plain Python loop.

Usage: python bench/export.py [--runs 60] [--samples 100] [--mini-coder 4000] [--memory-mib 2048] [--keep FOLDER]

A raw tree is generated and built up to the tables of the mixes; then the two steps run by themselves, as a build runs
them: the audit with nothing known from before, then again with everything known, and the export. Megabytes a second
are those of all JSON lines written; parquet, hashes and splits are made in the same time. The plain loop is one process
that reads the same landed texts, puts the same rows together and writes the same JSON lines, nothing else; its files
must be the same bytes. Exits with 1 when they are not, or when the export took more memory than --memory-mib.
"""

import argparse
import hashlib
import json
import os
import shutil
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from assay.exporting import one_line
from assay.mixes.export import FINALS, export_mixes
from assay.mixes.run import audit_tree
from assay.mixes.texts import Block, message_of
from assay.steps.warehouse import INPUT_FOLDER
from measure import Measurement, measure, measure_call

_REPOSITORY = Path(__file__).parents[1]
_GENERATOR = [sys.executable, str(Path(__file__).parent / "generator")]
_DBT = [sys.executable, "-m", "dbt.cli.main"]
_MIXES = ("credit", "escape_duel", "escape_mini", "finish_mini")
_IN_FINALS = {"final_v1": _MIXES[:2], "final_v2": _MIXES}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--samples", type=int, default=100)
    parser.add_argument("--mini-coder", type=int, default=4000)
    parser.add_argument("--memory-mib", type=float, default=2048.0, help="what the export may take at most")
    parser.add_argument(
        "--keep", type=Path, help="work in this folder and leave it; a tree that is there is used again"
    )
    arguments = parser.parse_args()
    if arguments.keep:
        return bench(arguments.keep, arguments)
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        return bench(Path(folder), arguments)


def bench(folder: Path, arguments: argparse.Namespace) -> int:
    raw, landing = folder / "raw", folder / "warehouse.duckdb.landing"
    environment = {
        **os.environ,
        "ASSAY_RAW_ROOT": str(raw),
        "ASSAY_DB": str(folder / "warehouse.duckdb"),
        "ASSAY_EXPORTS": str(folder / "exports"),
        "DBT_TARGET_PATH": str(folder / "target"),
        "DBT_LOG_PATH": str(folder / "logs"),
    }
    if not raw.exists():
        sizes = ["--runs", str(arguments.runs), "--samples", str(arguments.samples), "--era", "V4"]
        sizes += [
            "--mini-coder",
            str(arguments.mini_coder),
            "--sources",
            "sn97,mini_coder,tokenizer",
            "--scale",
            "full",
        ]
        measure([*_GENERATOR, "--out", str(raw), "--seed", "1", *sizes])
        kinds = ["--resource-type", "model", "--resource-type", "seed"]
        os.chdir(_REPOSITORY)
        measure([*_DBT, "build", "--select", "+mix_export", *kinds], environment)
    os.chdir(_REPOSITORY)

    for table in ("mix_audit_rows", "mix_audit_turns"):
        shutil.rmtree(landing / table, ignore_errors=True)
    for title in ("mask audit, nothing known", "mask audit, all known"):
        rows = _input(landing, "mask_audit_rows")
        measured, audited = measure_call(audit_tree, rows, landing, raw / "tokenizer", 32768)
        rate = audited.n_tokens / measured.seconds
        print(f"{title}: {_said(measured)}, {audited.n_tokens:,} tokens encoded, {rate:,.0f} tokens/s")

    inputs = [_input(landing, f"mix_export_{name}") for name in ("rows", "audit", "pairs")]
    exported, written = measure_call(export_mixes, *inputs, landing, folder / "exports", _MIXES, _IN_FINALS)
    n_bytes = sum(file.n_bytes for file in written if file.name.endswith(".jsonl"))
    megabytes = n_bytes / 1e6
    print(f"export: {_said(exported)}, {megabytes:,.0f} MB of JSON lines, {megabytes / exported.seconds:,.0f} MB/s")

    started = time.monotonic()
    digests = plain_loop(landing, folder / "plain")
    seconds = time.monotonic() - started
    print(
        f"plain loop: {seconds:.2f} s, {megabytes / seconds:,.0f} MB/s; "
        f"the export takes {exported.seconds / seconds:.2f} times as long"
    )
    same = digests == {file.name: file.sha256 for file in written if file.name in digests}
    print("both write the same bytes" if same else "the plain loop writes other bytes")
    fits = exported.peak_mebibytes <= arguments.memory_mib
    if not fits:
        print(f"the export took more than {arguments.memory_mib:.0f} MiB")
    return 0 if same and fits else 1


def _said(measured: Measurement) -> str:
    return f"{measured.seconds:.2f} s, at most {measured.peak_mebibytes:,.0f} MiB"


def _input(landing: Path, name: str) -> Path:
    return landing / INPUT_FOLDER / f"{name}.parquet"


def plain_loop(landing: Path, folder: Path) -> dict[str, str]:
    """Write every mix and both finals as JSON lines in one process; returns the SHA-256 of each."""
    folder.mkdir(exist_ok=True)
    rows = pq.read_table(_input(landing, "mix_export_rows")).to_pylist()
    rows.sort(key=lambda row: (_MIXES.index(row["mix"]), row["row_order"]))
    texts: dict[Path, dict[tuple[int, str], list[dict[str, Any]]]] = {}
    files = {name: (folder / f"{name}.jsonl").open("w", encoding="utf-8", newline="\n") for name in (*_MIXES, *FINALS)}
    for row in rows:
        block = Block.of(row["text_source"], row["text_artifact_id"], row["text_line"])
        path = block.landed(landing)
        if path not in texts:
            found: dict[tuple[int, str], list[dict[str, Any]]] = defaultdict(list)
            columns = ["line", "message_index", "role", "content", *(["side"] if row["text_source"] == "sn97" else [])]
            for message in pq.read_table(path, columns=columns).to_pylist():
                found[message["line"], message.get("side") or ""].append(message)
            texts[path] = found
        messages = {
            message["message_index"]: message
            for message in texts[path][block.place(row["text_line"], row["text_side"])]
        }
        trained = {turn["message_index"] for turn in row["turns"]}
        meta = {name: row[name] for name in ("split", "weight", "n_tokens", "n_trained_tokens", "turns")}
        made = {
            "id": row["row_id"],
            "messages": [
                {**vars(message_of(messages[index]["role"], messages[index]["content"])), "train": place in trained}
                for place, index in enumerate(row["message_indexes"])
            ],
            "mix": row["mix"],
            "train_meta": meta,
        }
        line = one_line(json.dumps(made, ensure_ascii=False, separators=(",", ":"))) + "\n"
        for name in (row["mix"], *(final for final in FINALS if row["mix"] in _IN_FINALS[final])):
            files[name].write(line)
    digests = {}
    for name, file in files.items():
        file.close()
        digests[f"{name}.jsonl"] = hashlib.sha256((folder / f"{name}.jsonl").read_bytes()).hexdigest()
    return digests


if __name__ == "__main__":
    sys.exit(main())
