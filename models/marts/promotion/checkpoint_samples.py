"""Samples every checkpoint in every context and experiment; lists what was sampled, and what could not be and why."""

from assay.promotion.step import sampling_step


def model(dbt, session):
    """Run the sampling step on the checkpoint files that `artifacts` found, in the contexts of the seed."""
    dbt.config(materialized="table")
    checkpoints = dbt.ref("int_checkpoint_files").project("artifact_id, fixture, checkpoint, sha256, step")
    contexts = dbt.ref("promotion_contexts").project(
        "context, ctx, sources, version, language, shards, request_ids, n, seed"
    )
    return sampling_step(
        session, dbt.this.identifier, dbt.config.get("raw_root"), dbt.config.get("landing"), checkpoints, contexts
    )
