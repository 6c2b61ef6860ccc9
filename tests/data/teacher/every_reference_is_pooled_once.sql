-- All references of all counted records stand in the pool, whatever the outcome of the duel.
with published as (

    select
        artifact_id,
        line,
        coalesce(n_teacher_references, 0) as n_published
    from {{ ref('int_duel_records') }}

),

pooled as (

    select
        artifact_id,
        line,
        count(*) as n_pooled
    from {{ ref('reference_pool') }}
    group by artifact_id, line

)

select
    published.artifact_id,
    published.n_published,
    pooled.n_pooled
from published
full outer join pooled on published.artifact_id = pooled.artifact_id and published.line = pooled.line
where coalesce(published.n_published, -1) <> coalesce(pooled.n_pooled, 0)
