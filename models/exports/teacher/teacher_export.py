"""Writes the teacher set below the exports folder, in order of epoch and turn, and lists the files it wrote."""

from assay.teacher.export import export_step


def model(dbt, session):
    """Stream the rows into their files; a fault is left for the post-hook, which says it in one sentence."""
    dbt.config(materialized="table", schema="exports")
    tables = {
        "drop_counts": dbt.ref("drop_counts"),
        "repair_counts": dbt.ref("repair_counts"),
        "sft_mix": dbt.ref("sft_mix"),
        "sft_lengths": dbt.ref("sft_lengths"),
        "agreement": dbt.ref("reference_agreement"),
        "artifacts": dbt.ref("artifacts"),
    }
    settings = {
        "completion_cue": dbt.config.get("completion_cue"),
        "min_thought_characters": dbt.config.get("min_thought_characters"),
        "max_prompt_tokens": dbt.config.get("max_prompt_tokens"),
        "corpus_epoch": dbt.config.get("corpus_epoch"),
        "deduplicate_references": dbt.config.get("deduplicate_references"),
        "dataset_license": dbt.config.get("dataset_license"),
    }
    return export_step(session, dbt.this.identifier, dbt.config.get("exports"), dbt.ref("sft_rows"), tables, settings)
