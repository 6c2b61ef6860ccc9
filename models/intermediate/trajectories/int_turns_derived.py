"""Derives turns and sides from the landed messages, artifact by artifact, and returns the turns."""

from assay.trajectories.step import trajectory_step


def model(dbt, session):
    """Run the step on what `artifacts` landed, under the rules of the seed `command_kinds`."""
    dbt.config(materialized="table")
    dbt.ref("artifacts")
    command_kinds = dbt.ref("command_kinds").project("scheme, position, kind, field, pattern")
    graded_runs = dbt.ref("int_graded_runs")
    return trajectory_step(session, dbt.this.identifier, dbt.config.get("landing"), command_kinds, graded_runs)
