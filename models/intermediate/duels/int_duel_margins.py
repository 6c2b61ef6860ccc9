"""Paired margins of every succeeded run with their uncertainty, as a stream."""

import pyarrow as pa
from assay.statistics import MARGINS, margins_by_run


def model(dbt, session):
    """One row a run that has at least one scored pair."""
    dbt.config(materialized="table")
    pairs = (
        dbt.ref("int_sample_pairs")
        .project(
            "eval_run_id, required_margin, wins_needed, sample_id, task_instance, score_king, score_challenger, rollout"
        )
        .order("eval_run_id, sample_id, rollout")
    )
    reader = pairs.to_arrow_reader(4096)
    replicates = int(dbt.config.get("bootstrap_replicates"))
    return pa.RecordBatchReader.from_batches(MARGINS, margins_by_run(reader, replicates))
