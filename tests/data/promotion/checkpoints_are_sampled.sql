{{ config(severity='warn') }}
select
    fixture,
    checkpoint,
    experiment,
    condition,
    status,
    reason
from {{ ref('checkpoint_samples') }}
where status <> 'sampled'
