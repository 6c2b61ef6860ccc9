{{ config(severity='warn') }}
select
    fixture,
    artifact_id,
    line,
    reason
from {{ ref('log_replay_mismatches') }}
