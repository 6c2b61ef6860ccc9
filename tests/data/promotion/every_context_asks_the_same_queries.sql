-- Contexts of one seed are paired: query by query the category and the payload are equal.
with asked as (

    select
        episodes.fixture,
        episodes.checkpoint,
        episodes.seed,
        episodes.query,
        count(distinct array_to_string(episodes.prompt[10:14], ' ')) as n_queries
    from {{ ref('episodes') }} as episodes
    where episodes.experiment = 'context'
    group by episodes.fixture, episodes.checkpoint, episodes.seed, episodes.query

)

select *
from asked
where n_queries <> 1
