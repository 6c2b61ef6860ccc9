-- The headers that a sampled context can have, held against the search for headers without a marker.
with contexts as (

    select * from {{ ref('promotion_contexts') }}

),

searched as (

    select * from {{ ref('marker_free_headers') }}

),

drawn as (

    select
        context,
        ctx,
        unnest(string_split(sources, ';')) as src,
        version as ver,
        language as lang,
        shards
    from contexts

),

headers as (

    select
        context,
        ctx,
        trim(src) as src,
        ver,
        lang,
        trim(unnest(string_split(coalesce(nullif(shards, ''), 's0;s1;s2;s3;s4;s5;s6;s7;s8;s9'), ';'))) as shard
    from drawn

),

context_headers as (

    select
        searched.fixture,
        headers.context,
        count(*) as n_headers,
        count(*) filter (where searched.is_marker_free) as n_marker_free,
        cast(sum(searched.n) as bigint) as n,
        cast(sum(searched.n_observed) as bigint) as n_observed,
        {{ safe_div('sum(searched.n_observed)', 'sum(searched.n)') }} as p_observed,
        {{ wilson_low('sum(searched.n_observed)', 'sum(searched.n)') }} as p_observed_low,
        {{ wilson_high('sum(searched.n_observed)', 'sum(searched.n)') }} as p_observed_high,
        bool_and(searched.is_marker_free) as is_marker_free
    from headers
    inner join searched
        on
            searched.ctx in ('*', headers.ctx)
            and searched.src in ('*', headers.src)
            and searched.ver in ('*', headers.ver)
            and searched.lang in ('*', headers.lang)
            and searched.shard in ('*', headers.shard)
    group by searched.fixture, headers.context

)

select * from context_headers
order by fixture, context
