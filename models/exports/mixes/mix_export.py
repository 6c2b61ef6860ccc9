"""Writes the training mixes below the exports folder, in export order, and lists the files it wrote."""

from assay.mixes.step import export_step


def model(dbt, session):
    """Stream the rows into their files; a fault is left for the post-hook, which says it in one sentence."""
    dbt.config(materialized="table", schema="exports")
    tables = {
        "mix_rows": dbt.ref("mix_rows"),
        "mix_turns": dbt.ref("mix_turns"),
        "candidate_rows": dbt.ref("mix_candidate_rows"),
        "candidate_messages": dbt.ref("mix_candidate_messages"),
        "mask_audit": dbt.ref("mask_audit"),
        "mask_audit_turns": dbt.ref("mask_audit_turns"),
        "row_gates": dbt.ref("row_gates"),
        "drop_ledger": dbt.ref("drop_ledger"),
        "pair_rows": dbt.ref("pair_rows"),
        "mix_plan": dbt.ref("mix_plan"),
        "artifacts": dbt.ref("artifacts"),
    }
    settings = {
        "max_row_tokens": dbt.config.get("max_row_tokens"),
        "drop_contaminated": dbt.config.get("drop_contaminated"),
        "ruleset": dbt.config.get("ruleset"),
    }
    return export_step(
        session, dbt.this.identifier, dbt.config.get("landing"), dbt.config.get("exports"), tables, settings
    )
