-- a: 2 children as counted; b: one lost; c: null means none; d: null but there is one; e: 0 and none.
with found as (
    {{ test_counts_its_children(
        "(select * from (values ('a', 2), ('b', 2), ('c', null), ('d', null), ('e', 0)) as t (artifact_id, n_messages))",
        'n_messages',
        "(values ('a', 'king'), ('a', 'king'), ('a', 'other'), ('b', 'king'), ('d', 'king')) as c (artifact_id, side)",
        ['artifact_id'],
        "side = 'king'"
    ) }}
)

select string_agg(artifact_id, ',' order by artifact_id) as found
from found
having coalesce(string_agg(artifact_id, ',' order by artifact_id), '') <> 'b,d'
