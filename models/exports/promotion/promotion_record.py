"""Writes the promotion record below the exports folder and lists the files it wrote."""

from assay.promotion.export import export_step


def model(dbt, session):
    """Hand the tables of `promotion` to the writer; the post-hook says a fault in one sentence."""
    dbt.config(materialized="table", schema="exports")
    tables = {
        "decisions": dbt.ref("decisions"),
        "measures": dbt.ref("measures"),
        "findings": dbt.ref("findings"),
        "gates": dbt.ref("promotion_gates"),
        "contexts": dbt.ref("promotion_contexts"),
        "context_headers": dbt.ref("context_headers"),
        "header_interventions": dbt.ref("header_interventions"),
        "belief_interventions": dbt.ref("belief_interventions"),
        "nuisance_probes": dbt.ref("nuisance_probes"),
        "sample_audit": dbt.ref("sample_audit"),
        "log_replay": dbt.ref("log_replay"),
        "corpus_check": dbt.ref("corpus_check"),
        "belief_by_header": dbt.ref("belief_by_header"),
        "belief_by_marker": dbt.ref("belief_by_marker"),
        "header_effects": dbt.ref("header_effects"),
        "marker_free_headers": dbt.ref("marker_free_headers"),
    }
    return export_step(session, dbt.this.identifier, dbt.config.get("exports"), tables)
