{{ config(severity='warn') }}
select
    fixture,
    context
from {{ ref('context_headers') }}
where context = 'deployment' and not is_marker_free
