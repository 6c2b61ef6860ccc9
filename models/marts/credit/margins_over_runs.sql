with duels as (

    select * from {{ ref('duels') }}

),

-- A run whose standard error is unknown or 0 says nothing of its own precision, so it cannot be weighed.
runs as (

    select
        eval_run_id,
        king_model,
        challenger_model,
        required_margin,
        margin_mean,
        margin_se * margin_se as variance,
        1.0 / (margin_se * margin_se) as weight
    from duels
    where is_counted and margin_se > 0 and king_model is not null and challenger_model is not null

),

counted as (

    select
        king_model,
        challenger_model,
        count(*) as n_runs,
        cast(sum(n_paired_samples) as bigint) as n_paired_samples,
        -- What one run says of itself; of two or more, all are weighed.
        case when count(*) = 1 then min(margin_mean) end as only_mean,
        case when count(*) = 1 then min(margin_se) end as only_se,
        case when count(*) = 1 then min(margin_lo) end as only_lo,
        case when count(*) = 1 then min(margin_hi) end as only_hi
    from duels
    where is_counted and margin_mean is not null and king_model is not null and challenger_model is not null
    group by king_model, challenger_model

),

fixed_effect as (

    select
        king_model,
        challenger_model,
        count(*) as n_runs_weighed,
        max(required_margin) as required_margin,
        fsum(weight order by eval_run_id) as weights,
        fsum(weight * weight order by eval_run_id) as weights_squared,
        fsum(weight * margin_mean order by eval_run_id) / fsum(weight order by eval_run_id) as margin_fixed
    from runs
    group by king_model, challenger_model

),

-- Cochran's q: how far the runs lie from their common mean, in units of what each run's own error explains.
heterogeneity as (

    select
        runs.king_model,
        runs.challenger_model,
        fsum(
            runs.weight * pow(runs.margin_mean - fixed_effect.margin_fixed, 2) order by runs.eval_run_id
        ) as q
    from runs
    inner join fixed_effect
        on runs.king_model = fixed_effect.king_model and runs.challenger_model = fixed_effect.challenger_model
    group by runs.king_model, runs.challenger_model

),

-- The moment estimator of DerSimonian and Laird (1986); one run cannot differ from itself.
between_runs as (

    select
        fixed_effect.king_model,
        fixed_effect.challenger_model,
        fixed_effect.n_runs_weighed,
        fixed_effect.required_margin,
        fixed_effect.margin_fixed,
        case when fixed_effect.n_runs_weighed > 1 then heterogeneity.q end as q,
        case
            when fixed_effect.n_runs_weighed > 1
                then greatest(
                    0.0,
                    (heterogeneity.q - (fixed_effect.n_runs_weighed - 1))
                    / (fixed_effect.weights - fixed_effect.weights_squared / fixed_effect.weights)
                )
        end as tau_squared
    from fixed_effect
    inner join heterogeneity
        on
            fixed_effect.king_model = heterogeneity.king_model
            and fixed_effect.challenger_model = heterogeneity.challenger_model

),

random_effect as (

    select
        runs.king_model,
        runs.challenger_model,
        fsum(runs.margin_mean / (runs.variance + between_runs.tau_squared) order by runs.eval_run_id)
        / fsum(1.0 / (runs.variance + between_runs.tau_squared) order by runs.eval_run_id) as margin_mean,
        sqrt(1.0 / fsum(1.0 / (runs.variance + between_runs.tau_squared) order by runs.eval_run_id)) as margin_se
    from runs
    inner join between_runs
        on runs.king_model = between_runs.king_model and runs.challenger_model = between_runs.challenger_model
    where between_runs.tau_squared is not null
    group by runs.king_model, runs.challenger_model

),

margins_over_runs as (

    select
        counted.king_model,
        counted.challenger_model,
        counted.n_runs,
        coalesce(between_runs.n_runs_weighed, 0) as n_runs_weighed,
        counted.n_paired_samples,
        between_runs.required_margin,
        between_runs.margin_fixed,
        coalesce(random_effect.margin_mean, counted.only_mean) as margin_mean,
        coalesce(random_effect.margin_se, counted.only_se) as margin_se,
        coalesce(random_effect.margin_mean - {{ normal_quantile_975() }} * random_effect.margin_se, counted.only_lo)
            as margin_lo,
        coalesce(random_effect.margin_mean + {{ normal_quantile_975() }} * random_effect.margin_se, counted.only_hi)
            as margin_hi,
        between_runs.q,
        sqrt(between_runs.tau_squared) as tau,
        case
            when between_runs.q > 0
                then greatest(0.0, (between_runs.q - (between_runs.n_runs_weighed - 1)) / between_runs.q)
        end as share_between_runs,
        random_effect.margin_mean
        - {{ normal_quantile_975() }} * sqrt(pow(random_effect.margin_se, 2) + between_runs.tau_squared)
            as next_run_lo,
        random_effect.margin_mean
        + {{ normal_quantile_975() }} * sqrt(pow(random_effect.margin_se, 2) + between_runs.tau_squared)
            as next_run_hi
    from counted
    left join between_runs
        on counted.king_model = between_runs.king_model and counted.challenger_model = between_runs.challenger_model
    left join random_effect
        on counted.king_model = random_effect.king_model and counted.challenger_model = random_effect.challenger_model

)

select * from margins_over_runs
