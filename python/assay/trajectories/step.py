"""Turns and sides as a build makes them: in a process of its own, with the result as views of the warehouse."""

import json
import os
import sys
from pathlib import Path

import duckdb

from assay.errors import AssayError
from assay.landing.step import SCHEMA, leave_fault, publish, run_apart
from assay.trajectories.commands import KindRule
from assay.trajectories.run import OUTPUTS, derive_tree


def trajectory_step(
    session: duckdb.DuckDBPyConnection,
    model: str,
    folder: str,
    command_kinds: duckdb.DuckDBPyRelation,
    graded_runs: duckdb.DuckDBPyRelation,
) -> duckdb.DuckDBPyRelation:
    """Derive turns and sides of what was landed in `folder`, publish both and return the turns.

    `command_kinds` has the seed's columns in order, `graded_runs` one column of eval run ids.
    """
    request = {
        "folder": folder,
        "rules": command_kinds.order("scheme, position").fetchall(),
        "graded_runs": sorted(row[0] for row in graded_runs.fetchall()),
        "workers": int(os.environ.get("ASSAY_THREADS") or 0) or None,
    }
    fault = run_apart(["-m", "assay.trajectories.step"], json.dumps(request))
    leave_fault(session, model, fault)
    if fault is not None:
        return session.from_arrow(OUTPUTS["turns"].empty_table())
    publish(session, folder, OUTPUTS)
    return session.sql(f"select * from {SCHEMA}.turns order by artifact_id, line, side, turn")


def main() -> int:
    """Do what the request on standard input says; a fault is one sentence on standard error."""
    request = json.load(sys.stdin)
    try:
        rules = [KindRule(*rule) for rule in request["rules"]]
        derive_tree(Path(request["folder"]), rules, set(request["graded_runs"]), request["workers"])
    except (AssayError, ValueError) as error:
        print(f"assay: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
