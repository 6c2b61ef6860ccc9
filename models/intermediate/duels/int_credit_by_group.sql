with turn_groups as (

    select * from {{ ref('int_turn_groups') }}

),

-- Turns of one sample are not independent, whatever side, rollout or run they stand in: the sample is the cluster.
by_sample as (

    select
        dimension,
        value,
        sample_id,
        count(*) as n_turns,
        count(*) filter (where credit_split > 0) as n_earning,
        {{ exact_sum('credit_split') }} as credit,
        {{ exact_sum('credit_full') }} as credit_full,
        {{ exact_sum('credit_split_extended') }} as credit_extended
    from turn_groups
    group by dimension, value, sample_id

),

totals as (

    select
        dimension,
        value,
        count(*) as n_samples,
        sum(n_turns) as n_turns,
        sum(n_earning) as n_earning,
        {{ exact_sum('credit') }} as credit,
        {{ exact_sum('credit_full') }} as credit_full,
        {{ exact_sum('credit_extended') }} as credit_extended,
        {{ safe_div('sum(n_earning)', 'sum(n_turns)') }} as earn_rate,
        {{ safe_div(exact_sum('credit'), 'sum(n_turns)') }} as mean_credit
    from by_sample
    group by dimension, value

),

squares as (

    select
        by_sample.dimension,
        by_sample.value,
        {{ exact_sum('power(by_sample.n_earning - totals.earn_rate * by_sample.n_turns, 2)') }} as earning_squares,
        -- The square of a sample's credit has no bound that `exact_sum` could rely on.
        fsum(power(by_sample.credit - totals.mean_credit * by_sample.n_turns, 2) order by by_sample.sample_id)
            as credit_squares
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
        {{ clustered_standard_error('squares.earning_squares', 'totals.n_samples', 'totals.n_turns') }} as earn_rate_se,
        {{ clustered_standard_error('squares.credit_squares', 'totals.n_samples', 'totals.n_turns') }}
            as mean_credit_se
    from totals
    inner join squares
        on
            totals.dimension = squares.dimension
            and totals.value = squares.value

),

with_effective as (

    select
        *,
        {{ effective_trials('earn_rate', 'earn_rate_se', 'n_turns', 'n_samples') }} as n_effective
    from with_errors

),

int_credit_by_group as (

    select
        dimension,
        value,
        n_samples,
        cast(n_turns as bigint) as n_turns,
        {{ safe_div('n_turns', 'max(case when dimension = \'all\' then n_turns end) over ()') }} as share_of_turns,
        credit,
        {{ safe_div('credit', 'max(case when dimension = \'all\' then credit end) over ()') }} as share_of_credit,
        mean_credit,
        mean_credit_se,
        mean_credit - {{ normal_quantile_975() }} * mean_credit_se as mean_credit_low,
        mean_credit + {{ normal_quantile_975() }} * mean_credit_se as mean_credit_high,
        {{ safe_div('credit_full', 'n_turns') }} as mean_credit_full,
        {{ safe_div('credit_extended', 'n_turns') }} as mean_credit_extended,
        cast(n_earning as bigint) as n_earning,
        earn_rate,
        earn_rate_se,
        {{ wilson_low('earn_rate * n_effective', 'n_effective') }} as earn_rate_low,
        {{ wilson_high('earn_rate * n_effective', 'n_effective') }} as earn_rate_high,
        n_effective
    from with_effective

)

select * from int_credit_by_group
