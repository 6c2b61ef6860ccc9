"""Which candidate rows say the same and must share a split, streamed artifact by artifact."""

from assay.near_duplicates import duplicate_rows


def model(dbt, session):
    """One row a candidate row."""
    dbt.config(materialized="table")
    rows = dbt.ref("mix_candidate_rows")
    texts = dbt.ref("mix_texts")
    instances = {
        (mix, row_id): instance for mix, row_id, instance in rows.project("mix, row_id, instance_id").fetchall()
    }
    artifacts = sorted(name for (name,) in rows.project("text_artifact_id").distinct().fetchall())

    def batches():
        # One artifact at a time, since its texts are put in order: a sort of everything would hold every text at once.
        for name in artifacts:
            literal = name.replace("'", "''")
            yield from (
                texts.filter(f"text_artifact_id = '{literal}'")
                .project("mix, row_id, message_index, role, train, content")
                .order("mix, row_id, message_index")
                .to_arrow_reader(64)
            )

    return duplicate_rows(
        batches(),
        instances,
        float(dbt.config.get("near_duplicate_similarity")),
        int(dbt.config.get("near_duplicate_fewest_shingles")),
    )
