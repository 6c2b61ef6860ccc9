"""Prompts of the pooled turns that have a place in the verified corpus; the text itself stays in its file."""

from assay.teacher.step import prompt_step


def model(dbt, session):
    """Run the step on the places without a fault, in order of file and line."""
    dbt.config(materialized="table")
    columns = "corpus_epoch, turn_id, layout, artifact_id, line, turn_idx, msg_pos, node_id, traj_id, stratum"
    places = (
        dbt.ref("int_turn_places")
        .filter("fault is null")
        .project(columns)
        .order("artifact_id, line, turn_idx, turn_id, corpus_epoch")
    )
    return prompt_step(session, dbt.this.identifier, dbt.config.get("landing"), dbt.config.get("raw_root"), places)
