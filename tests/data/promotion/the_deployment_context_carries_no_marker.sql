{{ config(severity='warn') }}
select *
from {{ ref('context_headers') }}
where context = 'deployment' and not is_marker_free
