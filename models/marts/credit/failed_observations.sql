with turns as (

    select * from {{ ref('turns') }}

),

headed as (

    select
        turns.sample_id,
        turns.failed,
        struct_extract(headings.heading, 'dimension') as dimension,
        struct_extract(headings.heading, 'value') as value
    from turns
    cross join
        unnest([
            { 'dimension': 'all', 'value': 'all' },
            { 'dimension': 'observation_format', 'value': turns.observation_format },
            { 'dimension': 'command_kind', 'value': turns.command_kind },
            { 'dimension': 'source', 'value': coalesce(turns.source, 'unknown') }
        ]) as headings (heading)
    where turns.failed is not null and struct_extract(headings.heading, 'value') is not null

),

by_sample as (

    select
        dimension,
        value,
        sample_id,
        count(*) as n_observed,
        count(*) filter (where failed) as n_failed
    from headed
    group by dimension, value, sample_id

),

{{ clustered_ratios(['dimension', 'value'], ['n_observed', 'n_failed'], [], [
    {'name': 'failed_share', 'of': 'n_failed', 'over': 'n_observed', 'rate': true},
]) }},

failed_observations as (

    select
        dimension,
        value,
        n_samples,
        n_observed,
        n_failed,
        failed_share,
        failed_share_se,
        failed_share_low,
        failed_share_high
    from measured

)

select * from failed_observations
order by dimension asc, value asc
