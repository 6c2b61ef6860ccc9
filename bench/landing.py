"""How fast raw files become staging tables, and in how much memory, beside a loop that only parses the lines.

Usage: python bench/landing.py [--runs 20] [--samples 100] [--repeat 3]

Prints medians over the repeats: `land` is the landing step alone from an empty folder, `land + stage` is
`dbt build` of staging without its tests from an empty warehouse with dbt's start-up in it, `again` the same with
nothing changed, `parse loop` is one Python process that reads every JSON line and parses it with the standard library.
"""

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from measure import Measurement, measure

_ASSAY = [sys.executable, "-m", "assay.cli"]
_GENERATOR = [sys.executable, str(Path(__file__).parent / "generator")]
_DBT = [sys.executable, "-m", "dbt.cli.main"]
_LOOP = """
import json, pathlib, sys
for path in pathlib.Path(sys.argv[1]).rglob("*.jsonl"):
    with path.open(encoding="utf-8", newline="\\n") as lines:
        for line in lines:
            json.loads(line)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--samples", type=int, default=100)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        bench(Path(folder), arguments.runs, arguments.samples, arguments.repeat)


def bench(folder: Path, runs: int, samples: int, repeat: int) -> None:
    raw = folder / "raw"
    sizes = ["--runs", str(runs), "--samples", str(samples), "--seed", "1"]
    made = measure([*_GENERATOR, "--out", str(raw), *sizes])
    jsonl = sum(path.stat().st_size for path in raw.rglob("*.jsonl"))
    every = sum(path.stat().st_size for path in raw.rglob("*") if path.is_file())
    print(f"raw tree: {every / 1e6:.0f} MB, {jsonl / 1e6:.0f} MB of it JSON lines (made in {made.seconds:.0f} s)")
    environment = {
        **os.environ,
        "ASSAY_RAW_ROOT": str(raw),
        "ASSAY_DB": str(folder / "warehouse.duckdb"),
        "DBT_TARGET_PATH": str(folder / "target"),
        "DBT_LOG_PATH": str(folder / "logs"),
    }
    measure([*_DBT, "parse"], environment)
    results: dict[str, list[Measurement]] = {"parse loop": [], "land": [], "land + stage": [], "again": []}
    for _ in range(repeat):
        results["parse loop"].append(measure([sys.executable, "-c", _LOOP, str(raw)]))
        landing = folder / "landing"
        results["land"].append(measure([*_ASSAY, "land", str(raw), "--out", str(landing)]))
        shutil.rmtree(landing)
        stage = [*_DBT, "build", "--select", "+path:models/staging", "--exclude-resource-type", "test"]
        results["land + stage"].append(measure(stage, environment))
        results["again"].append(measure(stage, environment))
        (folder / "warehouse.duckdb").unlink()
        shutil.rmtree(folder / "warehouse.duckdb.landing")
    loop = statistics.median(one.seconds for one in results["parse loop"])
    print(f"{'':14} {'seconds':>9} {'MB/s':>7} {'of the loop':>12} {'peak MiB':>9}")
    for name, measurements in results.items():
        seconds = statistics.median(one.seconds for one in measurements)
        peak = max(one.peak_mebibytes for one in measurements)
        print(f"{name:14} {seconds:9.2f} {jsonl / 1e6 / seconds:7.0f} {loop / seconds:11.2f}x {peak:9.0f}")
    print(json.dumps({name: [round(one.seconds, 2) for one in each] for name, each in results.items()}))


if __name__ == "__main__":
    main()
