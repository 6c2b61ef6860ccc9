"""Selected references repaired, checked by `bash -n` and put together as completions."""

from assay.teacher.step import repair_step


def model(dbt, session):
    """Run the step on the selected references, in order of epoch and turn."""
    dbt.config(materialized="table")
    references = (
        dbt.ref("int_selected_references")
        .project("corpus_epoch, turn_id, thought, action")
        .order("corpus_epoch, turn_id")
    )
    cue, bash_version = dbt.config.get("cue"), dbt.config.get("bash_version")
    return repair_step(
        session, dbt.this.identifier, dbt.config.get("landing"), references, cue, str(bash_version or "")
    )
