"""Lands the raw tree, publishes the landed files as views of schema `landing`, and lists the tree's files."""

from assay.landing.step import landing_step


def model(dbt, session):
    """Run the landing step; a fault is left for the post-hook, which can say it in one sentence."""
    dbt.config(materialized="table")
    # dbt only hands over the settings whose names it reads in such calls.
    raw_root = dbt.config.get("raw_root")
    landing = dbt.config.get("landing")
    return landing_step(
        session,
        dbt.this.identifier,
        raw_root,
        landing,
        dbt.config.get("max_line_megabytes"),
        dbt.config.get("follow_links_out_of_raw_root"),
    )
