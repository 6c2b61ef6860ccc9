"""Reads the turns that every judge's explanation cites, as a stream."""

import pyarrow as pa
from assay.citations import cite, cited_schema


def model(dbt, session):
    """One row an (answer, cited number); only answers whose explanation cites something have rows."""
    dbt.config(materialized="table")
    explanations = (
        dbt.ref("stg_sn97__answers")
        .filter("format = 'current' and explanation <> ''")
        .project("artifact_id, line, judge_index, question_id, explanation")
    )
    reader = explanations.to_arrow_reader(4096)
    return pa.RecordBatchReader.from_batches(cited_schema(reader.schema), (cite(batch) for batch in reader))
