"""The landing step as a build runs it: in a process of its own, with its result as views of the warehouse."""

from pathlib import Path

import duckdb

from assay.landing.run import OUTPUTS, SUMMARIES, land_tree
from assay.landing.tables import ARTIFACTS
from assay.settings import threads
from assay.steps.process import apart
from assay.steps.warehouse import SCHEMA, publish, step_of_a_model


@step_of_a_model(ARTIFACTS)
def landing_step(
    session: duckdb.DuckDBPyConnection,
    raw_root: str,
    folder: str,
    max_line_megabytes: int,
    follow_links_out: bool = False,
) -> duckdb.DuckDBPyRelation:
    """Land `raw_root` into `folder`, (re)create the views over it and return the `artifacts` relation."""
    apart(land_tree, Path(raw_root), Path(folder), threads(), max_line_megabytes, follow_links_out)
    publish(session, folder, (*OUTPUTS, *SUMMARIES))
    return session.sql(f"select * from {SCHEMA}.artifacts order by artifact_id")
