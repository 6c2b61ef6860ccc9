with sound as (

    select
        fixture,
        count(*) as n_episodes
    from {{ ref('int_corpus_headers') }}
    where fault is null
    group by fixture

),

tables as (

    select
        fixture,
        'belief_by_header' as model,
        sum(n) as n_counted
    from {{ ref('belief_by_header') }}
    group by fixture
    union all
    select
        fixture,
        'belief_by_marker' as model,
        sum(n) as n_counted
    from {{ ref('belief_by_marker') }}
    group by fixture
    union all
    select
        fixture,
        'belief_by_field ' || field as model,
        sum(n) as n_counted
    from {{ ref('belief_by_field') }}
    group by fixture, field
    union all
    select
        fixture,
        'marker_free_headers' as model,
        sum(n) as n_counted
    from {{ ref('marker_free_headers') }}
    group by fixture

)

select
    tables.fixture,
    tables.model,
    tables.n_counted,
    sound.n_episodes
from tables
left join sound on tables.fixture = sound.fixture
where tables.n_counted is distinct from sound.n_episodes
