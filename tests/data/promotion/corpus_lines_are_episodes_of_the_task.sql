{{ config(severity='warn') }}
select
    fixture,
    artifact_id,
    line,
    reason
from {{ ref('corpus_faults') }}
