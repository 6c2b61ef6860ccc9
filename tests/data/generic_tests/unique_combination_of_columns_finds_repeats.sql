-- The generic test must find the one pair that stands there twice, nulls being equal, and nothing else.
with found as (
    {{ test_unique_combination_of_columns(
        "(values ('a', 1), ('a', 2), ('b', null), ('b', null)) as t (artifact_id, line)",
        ['artifact_id', 'line']
    ) }}
)

select
    count(*) as n_found,
    max(artifact_id) as artifact_id,
    max(n_rows) as n_rows
from found
having count(*) <> 1 or max(artifact_id) <> 'b' or max(n_rows) <> 2
