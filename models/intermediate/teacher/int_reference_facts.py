"""Facts of every teacher reference, duel record by duel record; the margins of the duels are made on the way."""

from assay.teacher.step import duel_facts_step


def model(dbt, session):
    """Run the step on what `artifacts` landed, under the temperings of the seed `teacher_duel_rules`."""
    dbt.config(materialized="table")
    dbt.ref("artifacts")
    taus = dbt.ref("teacher_duel_rules").project("tau")
    return duel_facts_step(session, dbt.this.identifier, dbt.config.get("landing"), taus)
