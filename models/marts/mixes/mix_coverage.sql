with classes as (

    select * from {{ ref('failure_classes') }}

),

coverage as (

    select * from {{ ref('failure_coverage') }}

),

faults as (

    select * from {{ ref('stg_sn97__faults') }}

),

duels as (

    select * from {{ ref('duels') }}

),

plan as (

    select * from {{ ref('mix_plan') }}

),

composition as (

    select * from {{ ref('mix_composition') }}

),

escapes as (

    select * from {{ ref('escape_statistics') }}

),

-- The first class whose words are in the reason; a reason of none of them is left over.
matched as (

    select
        faults.artifact_id,
        faults.line,
        min(classes.position) as position
    from faults
    inner join classes
        on
            classes.stage = 'pre_eval'
            and (
                classes.pattern is null
                or regexp_matches(
                    lower(coalesce(faults.reason, '') || ' ' || coalesce(faults.fault_code, '')), classes.pattern
                )
            )
    group by faults.artifact_id, faults.line

),

lost as (

    select count(*) filter (where not challenger_won) as n_failures
    from duels
    where is_counted

),

failures as (

    select
        position,
        count(*) as n_failures
    from matched
    group by position
    union all
    select
        classes.position,
        lost.n_failures
    from classes
    cross join lost
    where classes.stage = 'duel'

),

totals as (

    select
        'pre_eval' as stage,
        count(*) as n_total
    from faults
    union all
    select
        'duel' as stage,
        count(challenger_won) as n_total
    from duels
    where is_counted

),

covering as (

    select
        coverage.failure_class,
        list(coverage.mix order by plan.position) as covered_by,
        sum(composition.n_rows) as n_rows,
        sum(composition.n_train_turns) as n_train_turns,
        sum(composition.n_submission_turns) as n_submission_turns,
        sum(escapes.n_past_cutoff) as n_rows_past_cutoff
    from coverage
    inner join plan on coverage.mix = plan.mix
    inner join composition on coverage.mix = composition.mix
    left join escapes on coverage.mix = escapes.mix
    group by coverage.failure_class

),

mix_coverage as (

    select
        classes.failure_class,
        classes.position,
        classes.stage,
        classes.description,
        coalesce(failures.n_failures, 0) as n_failures,
        totals.n_total as n_failures_of_stage,
        {{ safe_div('coalesce(failures.n_failures, 0)', 'totals.n_total') }} as share_of_failures,
        {{ wilson_low('coalesce(failures.n_failures, 0)', 'totals.n_total') }} as share_low,
        {{ wilson_high('coalesce(failures.n_failures, 0)', 'totals.n_total') }} as share_high,
        coalesce(covering.covered_by, cast([] as varchar[])) as covered_by,
        cast(coalesce(covering.n_rows, 0) as bigint) as n_rows,
        cast(coalesce(covering.n_train_turns, 0) as bigint) as n_train_turns,
        cast(coalesce(covering.n_submission_turns, 0) as bigint) as n_submission_turns,
        cast(covering.n_rows_past_cutoff as bigint) as n_rows_past_cutoff
    from classes
    inner join totals on classes.stage = totals.stage
    left join failures on classes.position = failures.position
    left join covering on classes.failure_class = covering.failure_class

)

select * from mix_coverage
order by position asc
