"""Proves the masks of both sides of every preference pair, as `mask_audit` does those of the mixes."""

from assay.mixes.step import pair_audit_step


def model(dbt, session):
    """Run the step on the sides; a fault is left for the post-hook, which says it in one sentence."""
    dbt.config(materialized="table")
    dbt.ref("artifacts")
    settings = {
        "tokenizer": dbt.config.get("tokenizer"),
        "raw_root": dbt.config.get("raw_root"),
        "max_row_tokens": int(dbt.config.get("max_row_tokens")),
        "chat_template_date": dbt.config.get("chat_template_date"),
    }
    return pair_audit_step(session, dbt.this.identifier, dbt.config.get("landing"), settings, dbt.ref("pair_messages"))
