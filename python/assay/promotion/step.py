"""Sampling as a build runs it: in a process of its own, with its result as views of the warehouse."""

import json
import os
import sys
from pathlib import Path

import duckdb
import pyarrow.parquet as pq

from assay.errors import AssayError
from assay.landing.step import SCHEMA, leave_fault, publish, run_apart
from assay.promotion.conditions import context_of
from assay.promotion.run import FOLDER, SAMPLED, Checkpoint, sample_tree
from assay.steps.writing import writing

_SAMPLED_FOLDER = "policy_conditions"


def sampling_step(
    session: duckdb.DuckDBPyConnection,
    model: str,
    raw_root: str,
    folder: str,
    checkpoints: duckdb.DuckDBPyRelation,
    contexts: duckdb.DuckDBPyRelation,
) -> duckdb.DuckDBPyRelation:
    """Sample the checkpoints below `raw_root`, publish their episodes and return the table of `SAMPLED`.

    `checkpoints` has the columns artifact_id, fixture, checkpoint, sha256, step; `contexts` those of the seed
    `promotion_contexts`. A fault the user can act on is left in the warehouse; the result is then empty.
    """
    request = {
        "raw_root": raw_root,
        "folder": folder,
        "checkpoints": checkpoints.order("artifact_id").fetchall(),
        "contexts": contexts.order("context").fetchall(),
        "workers": int(os.environ.get("ASSAY_THREADS") or 0) or None,
    }
    # The package itself is run: it holds the matrix library to one thread before numpy is loaded.
    fault = run_apart(["-m", "assay.promotion"], json.dumps(request))
    leave_fault(session, model, fault)
    if fault is not None:
        return session.from_arrow(SAMPLED.empty_table())
    publish(session, folder, [FOLDER, _SAMPLED_FOLDER])
    return session.sql(f"select * from {SCHEMA}.{_SAMPLED_FOLDER} order by fixture, checkpoint, experiment, condition")


def main() -> int:
    """Do what the request on standard input says; a fault is one sentence on standard error."""
    request = json.load(sys.stdin)
    landing = Path(request["folder"])
    try:
        sampled, _ = sample_tree(
            Path(request["raw_root"]),
            landing,
            [Checkpoint(*row) for row in request["checkpoints"]],
            [context_of(row) for row in request["contexts"]],
            request["workers"],
        )
        with writing(landing):
            (landing / _SAMPLED_FOLDER).mkdir(exist_ok=True)
            pq.write_table(sampled, landing / _SAMPLED_FOLDER / "all.part")
            os.replace(landing / _SAMPLED_FOLDER / "all.part", landing / _SAMPLED_FOLDER / "all.parquet")
    except AssayError as error:
        print(f"assay: {error}", file=sys.stderr)
        return 2
    return 0
