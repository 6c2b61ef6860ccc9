"""Proves the mask of every candidate row with the tokenizer and the chat template of the raw tree."""

from assay.mixes.step import audit_step
from assay.mixes.tokenizer import tokenizer_folder


def model(dbt, session):
    """Run the step on the candidate rows; a fault is left for the post-hook, which says it in one sentence."""
    dbt.config(materialized="table")
    dbt.ref("artifacts")
    return audit_step(
        session,
        dbt.this.identifier,
        dbt.config.get("landing"),
        tokenizer_folder(dbt.config.get("tokenizer"), dbt.config.get("raw_root")),
        int(dbt.config.get("max_row_tokens")),
        dbt.ref("int_mix_candidate_rows"),
        dbt.ref("int_mix_candidate_messages"),
    )
