"""How fast raw duel files become the credit tables, beside one Python process that loops over the same files.

Usage: python bench/credit.py [--runs 20] [--samples 100]

The loop parses every line, applies the same rules (`assay.trajectories`, `assay.citations`) to every scored turn and
adds up the same credit, in one process; both must find the same turns and the same credit. `credit` is `dbt run` from
an empty warehouse up to every table of schema `credit` and the gates of its sides and turns, with dbt's start-up in it.
Then each question of the README that reads these schemas is timed on the built warehouse.
"""

import argparse
import csv
import json
import math
import os
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import duckdb
from assay.citations import cited_turns
from assay.trajectories.commands import CommandKinds, KindRule
from assay.trajectories.derive import DuelSample, duel_rows
from measure import measure

_REPOSITORY = Path(__file__).parents[1]
_SIDES = (("king", "previous_king"), ("challenger", "challenger"))


def plain_loop(raw: Path) -> tuple[int, float]:
    """Number of turns and total split credit of the tree's V4 runs, by one loop over their lines."""
    with (_REPOSITORY / "seeds" / "command_kinds.csv").open(encoding="utf-8", newline="") as file:
        kinds = CommandKinds(
            KindRule(row["scheme"], int(row["position"]), row["kind"], row["field"], row["pattern"])
            for row in csv.DictReader(file)
        )
    with (_REPOSITORY / "seeds" / "tag_weights.csv").open(encoding="utf-8", newline="") as file:
        weights = {
            row["pattern"]: float(row["weight"]) for row in csv.DictReader(file) if row["tag_weights_id"] == "v4"
        }
    table: list[tuple[Any, ...]] = []
    for run in sorted((raw / "sn97" / "runs").iterdir()):
        if json.loads((run / "verdict.json").read_text())["state"] != "succeeded":
            continue
        samples = {}
        with (run / "generated-samples.jsonl").open(encoding="utf-8", newline="\n") as lines:
            for number, line in enumerate(lines, 1):
                sample = json.loads(line)
                samples[sample["sample_id"]] = (number, sample)
        with (run / "scoring-results.jsonl").open(encoding="utf-8", newline="\n") as lines:
            for line in lines:
                scoring = json.loads(line)
                if scoring["scored"]:
                    table += _sample_turns(scoring, *samples[scoring["sample_id"]], kinds, weights)
    return len(table), math.fsum(row[-1] for row in table)


def _sample_turns(
    scoring: dict[str, Any], number: int, sample: dict[str, Any], kinds: CommandKinds, weights: dict[str, float]
) -> list[tuple[Any, ...]]:
    rows = []
    question_weights = {
        question["id"]: weights.get(
            question["tag"], weights["reference:*"] if question["tag"][:10] == "reference:" else 0
        )
        for question in scoring["questions"]
    }
    for side, published in _SIDES:
        messages = [
            {"message_index": index, "score_target": None, "environment_observation": None, **message}
            for index, message in enumerate(sample[f"{published}_turns"] or [])
        ]
        document = sample.get(f"{published}_output")
        duel = DuelSample(number, side, document, bool(messages), sample.get("submit_command"), False)
        turns, _ = duel_rows("", duel, messages, kinds)
        credit = [0.0] * (len(turns) + 1)
        judges = [judge for judge in scoring["judge_results"] if judge["side"] == published]
        for judge in judges:
            if not judge["parse_ok"] or judge.get("looped") or judge.get("corrupted"):
                continue
            for question, weight in question_weights.items():
                if judge["answers"].get(question) == "1" and weight > 0:
                    cited = cited_turns(judge["explanations"].get(question) or "")
                    valid = [turn for turn, form in cited.items() if form == "strict" and 1 <= turn <= len(turns)]
                    for turn in valid:
                        credit[turn] += weight / len(valid) / len(judges)
        seen: set[str] = set()
        failed_before = False
        for turn, row in enumerate(turns, 1):
            key, failed = row[7], row[19]
            rows.append((*row, key in seen, failed_before, credit[turn]))
            seen.add(key)
            failed_before = bool(failed)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--samples", type=int, default=100)
    parser.add_argument("--loop", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.loop:
        print(json.dumps(plain_loop(arguments.loop)))
        return
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        bench(Path(folder), arguments.runs, arguments.samples)


def bench(folder: Path, runs: int, samples: int) -> None:
    raw, warehouse = folder / "raw", folder / "warehouse.duckdb"
    sizes = ["--runs", str(runs), "--samples", str(samples), "--seed", "1", "--era", "V4", "--sources", "sn97"]
    measure([sys.executable, "-m", "assay.cli", "sample", "--out", str(raw), *sizes])
    jsonl = sum(path.stat().st_size for path in raw.rglob("*.jsonl"))
    print(f"raw tree: {jsonl / 1e6:.0f} MB of JSON lines")
    environment = {
        **os.environ,
        "ASSAY_RAW_ROOT": str(raw),
        "ASSAY_DB": str(warehouse),
        "DBT_TARGET_PATH": str(folder / "target"),
        "DBT_LOG_PATH": str(folder / "logs"),
    }
    dbt = [sys.executable, "-m", "dbt.cli.main"]
    wanted = ["--select", "+path:models/marts/credit", "+side_gates", "+turn_gates"]
    measure([*dbt, "seed"], environment)
    measure([*dbt, "parse"], environment)
    loop = measure([sys.executable, __file__, "--loop", str(raw)])
    built = measure([*dbt, "run", *wanted], environment)
    again = measure([*dbt, "run", *wanted], environment)
    print(f"{'':10} {'seconds':>9} {'of the loop':>12} {'peak MiB':>9}")
    for name, one in (("loop", loop), ("credit", built), ("again", again)):
        print(f"{name:10} {one.seconds:9.2f} {loop.seconds / one.seconds:11.2f}x {one.peak_mebibytes:9.0f}")
    with duckdb.connect(str(warehouse), read_only=True) as connection:
        found = connection.sql("select count(*), fsum(credit_split) from credit.turns").fetchall()[0]
        turns, credit = json.loads(loop.output)
        print(f"turns {turns} and {found[0]}, credit {credit:.6f} and {found[1]:.6f}")
        if turns != found[0] or abs(credit - found[1]) > 1e-6:
            sys.exit("the loop and the warehouse do not agree")
        readme = (_REPOSITORY / "README.md").read_text(encoding="utf-8")
        for sql in re.findall(r"```sql\n(.+?)```", readme, re.DOTALL):
            if "credit." in sql:
                started = time.monotonic()
                connection.sql(sql.strip().rstrip(";")).fetchall()
                print(f"{time.monotonic() - started:6.2f} s  {' '.join(sql.split())[:90]}")


if __name__ == "__main__":
    main()
