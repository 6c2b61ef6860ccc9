with headers as (

    select * from {{ ref('int_corpus_headers') }}

),

stats as (

    select * from {{ ref('stg_gateway__corpus_stats') }}

),

stated as (

    select
        fixture,
        'episodes' as statistic,
        'episodes' as name,
        episodes as n
    from stats
    union all
    select
        stats.fixture,
        'category' as statistic,
        category.key as name,
        try_cast(category.value as bigint) as n
    from stats, json_each(stats.category_counts) as category
    union all
    select
        stats.fixture,
        'tag' as statistic,
        tag.key as name,
        try_cast(tag.value as bigint) as n
    from stats, json_each(stats.tag_counts) as tag

),

tags as (

    select
        fixture,
        unnest(tags) as tag
    from headers
    where fault is null

),

counted as (

    select
        fixture,
        'episodes' as statistic,
        'episodes' as name,
        count(*) as n
    from headers
    group by fixture
    union all
    select
        fixture,
        'category' as statistic,
        category as name,
        count(*) as n
    from headers
    where fault is null
    group by fixture, category
    union all
    select
        fixture,
        'tag' as statistic,
        tag as name,
        count(*) as n
    from tags
    group by fixture, tag

),

corpora as (

    select distinct fixture
    from headers

),

paired as (

    select
        coalesce(stated.fixture, counted.fixture) as fixture,
        coalesce(stated.statistic, counted.statistic) as statistic,
        coalesce(stated.name, counted.name) as name,
        stated.n as n_stated,
        counted.n as n_found
    from stated
    full outer join counted
        on
            stated.fixture = counted.fixture
            and stated.statistic = counted.statistic
            and stated.name = counted.name

),

-- What a corpus does not have it has 0 times; where there is no corpus nothing is counted.
corpus_check as (

    select
        paired.fixture,
        paired.statistic,
        paired.name,
        paired.n_stated,
        coalesce(paired.n_found, case when corpora.fixture is not null then 0 end) as n_counted,
        coalesce(
            paired.n_stated = coalesce(paired.n_found, case when corpora.fixture is not null then 0 end), false
        ) as matches
    from paired
    left join corpora on paired.fixture = corpora.fixture

)

select * from corpus_check
order by fixture, statistic, name
