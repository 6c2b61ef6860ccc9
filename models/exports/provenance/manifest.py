"""Writes cards, Croissant and MANIFEST.json over all exports, last of everything, and lists every exported file."""

from assay.provenance.step import manifest_step


def model(dbt, session):
    """Hand the tables of files, and those the cards show, to the writer; the post-hook says a fault in one sentence."""
    dbt.config(materialized="table", schema="exports")
    tables = {
        "mix_export": dbt.ref("mix_export"),
        "teacher_export": dbt.ref("teacher_export"),
        "promotion_record": dbt.ref("promotion_record"),
        "mix_plan": dbt.ref("mix_plan"),
        "mix_composition": dbt.ref("mix_composition"),
        "mix_coverage": dbt.ref("mix_coverage"),
        "drop_ledger": dbt.ref("drop_ledger"),
        "pair_ledger": dbt.ref("pair_ledger"),
        "mask_audit": dbt.ref("mask_audit"),
        "answers": dbt.ref("answers"),
        "duels": dbt.ref("duels"),
        "artifacts": dbt.ref("artifacts"),
    }
    settings = {"dataset_license": dbt.config.get("dataset_license"), "ruleset": dbt.config.get("ruleset")}
    return manifest_step(session, dbt.this.identifier, dbt.config.get("exports"), tables, settings)
