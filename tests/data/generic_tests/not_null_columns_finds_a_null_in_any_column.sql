-- Two of three rows have a null, each in another column.
with found as (
    {{ test_not_null_columns(
        "(values ('a', 1), ('b', null), (null, 3)) as t (artifact_id, line)",
        ['artifact_id', 'line']
    ) }}
)

select count(*) as n_found
from found
having count(*) <> 2
