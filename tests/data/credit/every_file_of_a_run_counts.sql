{{ config(severity='warn') }}
-- A copied folder, or a run that two folders state: what is left out is named, with the reason.
select
    artifact_id,
    eval_run_id,
    reason
from {{ ref('run_files') }}
where not is_counted
