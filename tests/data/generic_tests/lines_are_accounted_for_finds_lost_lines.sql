-- whole: 2 rows. refused: 1 row and 1 quarantined line (named twice). lost: 2 lines, 1 row.
-- unread: 3 lines and nothing else. stray: rows of a file not of this kind. uncounted: a null count.
-- empty: nothing, rightly. other: a file of another kind, whose lines are not this model's.
with found as (
    {{ test_lines_are_accounted_for(
        "(values ('whole'), ('whole'), ('refused'), ('lost'), ('stray'), ('uncounted')) as t (artifact_id)",
        'sn97',
        'generated_samples',
        "(values ('sn97', 'generated_samples', 'whole', 2), ('sn97', 'generated_samples', 'refused', 2),"
        ~ " ('sn97', 'generated_samples', 'lost', 2), ('sn97', 'generated_samples', 'unread', 3),"
        ~ " ('sn97', 'generated_samples', 'uncounted', null), ('sn97', 'generated_samples', 'empty', 0),"
        ~ " ('sn97', 'verdicts', 'other', 1)) as a (source, kind, artifact_id, n_lines)",
        "(values ('refused', 2), ('refused', 2)) as q (artifact_id, line)"
    ) }}
)

select string_agg(artifact_id, ',' order by artifact_id) as found
from found
having coalesce(string_agg(artifact_id, ',' order by artifact_id), '') <> 'lost,stray,uncounted,unread'
