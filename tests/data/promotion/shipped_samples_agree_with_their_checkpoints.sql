{{ config(severity='warn') }}
select
    fixture,
    artifact_id,
    line,
    reason
from {{ ref('sample_audit_mismatches') }}
