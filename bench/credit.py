"""How fast raw duel files become the credit tables, beside one Python process that loops over the same files.

Usage: python bench/credit.py [--runs 20] [--samples 100]

`loop` is the tests' `plain_turns.py`: one process, the standard library, the turn table alone, with nothing of the
warehouse in it; both must find the same turns and the same credit. `credit` is `dbt run` from an empty warehouse up to
every table of schema `credit` and the gates of its sides and turns, `again` the same with nothing changed, `dbt alone`
a run that selects no model: what both have in them before the first byte is read. Then each question of the README
that reads these schemas is timed on the built warehouse.
"""

import argparse
import math
import os
import re
import sys
import tempfile
import time
from pathlib import Path

import duckdb
from measure import measure

_REPOSITORY = Path(__file__).parents[1]
_GENERATOR = [sys.executable, str(Path(__file__).parent / "generator")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--samples", type=int, default=100)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        bench(Path(folder), arguments.runs, arguments.samples)


def bench(folder: Path, runs: int, samples: int) -> None:
    raw, warehouse = folder / "raw", folder / "warehouse.duckdb"
    sizes = ["--runs", str(runs), "--samples", str(samples), "--seed", "1", "--era", "V4", "--sources", "sn97"]
    measure([*_GENERATOR, "--out", str(raw), *sizes])
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
    loop = measure([sys.executable, str(_REPOSITORY / "tests" / "python" / "credit" / "plain_turns.py"), str(raw)])
    alone = measure([*dbt, "run", "--select", "nothing"], environment)
    built = measure([*dbt, "run", *wanted], environment)
    again = measure([*dbt, "run", *wanted], environment)
    print(f"{'':10} {'seconds':>9} {'of the loop':>12} {'peak MiB':>9}")
    for name, one in (("loop", loop), ("dbt alone", alone), ("credit", built), ("again", again)):
        print(f"{name:10} {one.seconds:9.2f} {loop.seconds / one.seconds:11.2f}x {one.peak_mebibytes:9.0f}")
    with duckdb.connect(str(warehouse), read_only=True) as connection:
        found = connection.sql("select count(*), fsum(credit_split) from credit.turns").fetchall()[0]
        said = re.search(r"(\d+) turns, credit_split ([\d.]+)", loop.output)
        turns, credit = map(float, said.groups()) if said else (math.nan, math.nan)
        print(f"turns {turns:.0f} and {found[0]}, credit {credit:.6f} and {found[1]:.6f}")
        if turns != found[0] or not abs(credit - found[1]) <= 1e-6:
            sys.exit("the loop and the warehouse do not agree")
        readme = (_REPOSITORY / "README.md").read_text(encoding="utf-8")
        for sql in re.findall(r"```sql\n(.+?)```", readme, re.DOTALL):
            if "credit." in sql:
                started = time.monotonic()
                connection.sql(sql.strip().rstrip(";")).fetchall()
                print(f"{time.monotonic() - started:6.2f} s  {' '.join(sql.split())[:90]}")


if __name__ == "__main__":
    main()
