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

totals as (

    select
        dimension,
        value,
        count(*) as n_samples,
        sum(n_observed) as n_observed,
        sum(n_failed) as n_failed,
        {{ safe_div('sum(n_failed)', 'sum(n_observed)') }} as failed_share
    from by_sample
    group by dimension, value

),

squares as (

    select
        by_sample.dimension,
        by_sample.value,
        {{ exact_sum('power(by_sample.n_failed - totals.failed_share * by_sample.n_observed, 2)') }} as failed_squares
    from by_sample
    inner join totals
        on
            by_sample.dimension = totals.dimension
            and by_sample.value = totals.value
    group by by_sample.dimension, by_sample.value

),

with_errors as (

    select
        totals.*,
        {{ clustered_standard_error('squares.failed_squares', 'totals.n_samples', 'totals.n_observed') }}
            as failed_share_se
    from totals
    inner join squares
        on
            totals.dimension = squares.dimension
            and totals.value = squares.value

),

with_effective as (

    select
        *,
        {{ effective_trials('failed_share', 'failed_share_se', 'n_observed', 'n_samples') }} as n_effective
    from with_errors

),

failed_observations as (

    select
        dimension,
        value,
        n_samples,
        cast(n_observed as bigint) as n_observed,
        cast(n_failed as bigint) as n_failed,
        failed_share,
        failed_share_se,
        {{ wilson_low('failed_share * n_effective', 'n_effective') }} as failed_share_low,
        {{ wilson_high('failed_share * n_effective', 'n_effective') }} as failed_share_high
    from with_effective

)

select * from failed_observations
order by dimension asc, value asc
