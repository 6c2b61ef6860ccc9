"""Proves the mask of every candidate row with the tokenizer and the chat template that are named."""

from assay.mixes.step import audit_step


def model(dbt, session):
    """Run the step on the candidate rows; a fault is left for the post-hook, which says it in one sentence."""
    dbt.config(materialized="table")
    dbt.ref("artifacts")
    settings = {
        "tokenizer": dbt.config.get("tokenizer"),
        "raw_root": dbt.config.get("raw_root"),
        "max_row_tokens": int(dbt.config.get("max_row_tokens")),
        "chat_template_date": dbt.config.get("chat_template_date"),
    }
    return audit_step(
        session,
        dbt.this.identifier,
        dbt.config.get("landing"),
        settings,
        dbt.ref("mix_candidate_rows"),
        dbt.ref("mix_candidate_messages"),
    )
