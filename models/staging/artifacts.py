"""Lands the raw tree, publishes the landed files as views of schema `landing`, and lists the tree's files."""

from assay.landing.step import landing_step


def model(dbt, session):
    """Run the landing step; a fault is left for the post-hook, which can say it in one sentence."""
    dbt.config(materialized="table")
    config = dbt.config.get
    return landing_step(session, config("raw_root"), config("landing"), config("max_line_megabytes"))
