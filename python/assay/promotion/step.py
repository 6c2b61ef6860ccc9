"""Sampling as a build runs it: in a process of its own, with its result as views of the warehouse."""

from pathlib import Path

import duckdb

from assay.errors import AssayError
from assay.landing.artifact import artifact_key
from assay.landing.run import STEP as LANDING
from assay.names import shown
from assay.promotion.conditions import context_of
from assay.promotion.run import CONDITIONS_TABLE, EPISODES_TABLE, SAMPLED, Checkpoint, sample_tree
from assay.settings import threads
from assay.steps.process import apart
from assay.steps.state import results
from assay.steps.warehouse import SCHEMA, publish, step_of_a_model


@step_of_a_model(SAMPLED)
def sampling_step(
    session: duckdb.DuckDBPyConnection,
    raw_root: str,
    folder: str,
    checkpoints: duckdb.DuckDBPyRelation,
    contexts: duckdb.DuckDBPyRelation,
) -> duckdb.DuckDBPyRelation:
    """Sample the checkpoints below `raw_root`, publish their episodes and return the table of `SAMPLED`.

    `checkpoints` has the columns artifact_id, fixture, checkpoint, sha256, step; `contexts` those of the seed
    `promotion_contexts`.
    """
    landed = results(Path(folder), LANDING)
    files: list[Checkpoint] = []
    for artifact_id, *columns in checkpoints.order("artifact_id").fetchall():
        if artifact_key(artifact_id) not in landed:
            raise AssayError(f"{shown(artifact_id)} is not among the landed files: build `artifacts` again")
        files.append(Checkpoint(artifact_id, landed[artifact_key(artifact_id)]["path"], *columns))
    wanted = [context_of(row) for row in contexts.order("context").fetchall()]
    apart(sample_tree, Path(raw_root), Path(folder), files, wanted, threads())
    publish(session, folder, [EPISODES_TABLE, CONDITIONS_TABLE])
    return session.sql(f"select * from {SCHEMA}.{CONDITIONS_TABLE} order by fixture, checkpoint, experiment, condition")
