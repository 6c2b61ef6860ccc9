-- Turns of one sample are not independent, whatever side, rollout or run they stand in: the sample is the cluster.
with by_sample as (

    select
        dimension,
        value,
        sample_id,
        count(*) as n_turns,
        count(*) filter (where credit_split > 0) as n_earning,
        {{ exact_sum('credit_split') }} as credit,
        {{ exact_sum('credit_full') }} as credit_full,
        {{ exact_sum('credit_split_extended') }} as credit_extended
    from {{ ref('turn_groups') }}
    group by dimension, value, sample_id

),

{{ clustered_ratios(['dimension', 'value'], ['n_turns', 'n_earning'], ['credit', 'credit_full', 'credit_extended'], [
    {'name': 'earn_rate', 'of': 'n_earning', 'over': 'n_turns', 'rate': true},
    {'name': 'mean_credit', 'of': 'credit', 'over': 'n_turns', 'unbounded': true},
]) }},

credit_by_group as (

    select
        dimension,
        value,
        n_samples,
        n_turns,
        {{ safe_div('n_turns', 'max(case when dimension = \'all\' then n_turns end) over ()') }} as share_of_turns,
        credit,
        {{ safe_div('credit', 'max(case when dimension = \'all\' then credit end) over ()') }} as share_of_credit,
        mean_credit,
        mean_credit_se,
        mean_credit_low,
        mean_credit_high,
        {{ safe_div('credit_full', 'n_turns') }} as mean_credit_full,
        {{ safe_div('credit_extended', 'n_turns') }} as mean_credit_extended,
        n_earning,
        earn_rate,
        earn_rate_se,
        earn_rate_low,
        earn_rate_high,
        earn_rate_n as n_effective
    from measured

)

select * from credit_by_group
