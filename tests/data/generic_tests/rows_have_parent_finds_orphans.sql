-- Line 2 of b has no parent, once however many rows it has; a null key has none either.
with found as (
    {{ test_rows_have_parent(
        "(values ('a', 1), ('b', 2), ('b', 2), (null, 1)) as t (artifact_id, line)",
        "(values ('a', 1), ('b', 1)) as p (artifact_id, line)",
        ['artifact_id', 'line']
    ) }}
)

select count(*) as n_found
from found
having count(*) <> 2
