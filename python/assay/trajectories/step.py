"""Turns and sides as a build makes them: in a process of its own, with the result as views of the warehouse."""

from pathlib import Path

import duckdb

from assay.settings import threads
from assay.steps.process import apart
from assay.steps.warehouse import SCHEMA, publish, step_of_a_model
from assay.trajectories.commands import KindRule
from assay.trajectories.derive import TURNS
from assay.trajectories.run import OUTPUTS, derive_tree


@step_of_a_model(TURNS)
def trajectory_step(
    session: duckdb.DuckDBPyConnection,
    folder: str,
    command_kinds: duckdb.DuckDBPyRelation,
    graded_runs: duckdb.DuckDBPyRelation,
) -> duckdb.DuckDBPyRelation:
    """Derive turns and sides of what was landed in `folder`, publish both and return the turns.

    `command_kinds` has the seed's columns in order, `graded_runs` one column of eval run ids.
    """
    rules = [KindRule(*rule) for rule in command_kinds.order("scheme, position").fetchall()]
    apart(derive_tree, Path(folder), rules, {row[0] for row in graded_runs.fetchall()}, threads())
    publish(session, folder, OUTPUTS)
    return session.sql(f"select * from {SCHEMA}.turns order by artifact_id, line, side, turn")
