with side_gates as (

    select * from {{ ref('side_gates') }}

),

sides as (

    select * from {{ ref('sides') }}

),

judged as (

    select
        eval_run_id,
        sample_id,
        rollout,
        side,
        count(*) as n_gates,
        count(*) filter (where verdict = 'fail') as n_failed,
        count(*) filter (where verdict = 'unknown') as n_unknown,
        count(*) filter (where verdict = 'pass') as n_passed
    from side_gates
    where credit_mix
    group by eval_run_id, sample_id, rollout, side

),

verdicts as (

    select
        sides.eval_run_id,
        sides.sample_id,
        sides.rollout,
        sides.side,
        sides.score,
        sides.dup_cmd_ratio,
        coalesce(judged.n_failed, 0) as n_failed,
        coalesce(judged.n_unknown, 0) as n_unknown,
        -- Every gate has to pass; no gate at all passes nothing.
        coalesce(judged.n_passed = judged.n_gates and judged.n_gates > 0, false) as passes
    from sides
    left join judged
        on
            sides.eval_run_id = judged.eval_run_id
            and sides.sample_id = judged.sample_id
            and sides.rollout = judged.rollout
            and sides.side = judged.side
    where sides.is_counted

),

-- One side a sample: the highest score, then the lowest share of duplicates, then the key.
credit_mix_sides as (

    select
        eval_run_id,
        sample_id,
        rollout,
        side,
        score,
        n_failed,
        n_unknown,
        passes,
        case
            when passes
                then row_number() over (
                    partition by sample_id, passes
                    order by score desc, dup_cmd_ratio asc, eval_run_id asc, rollout asc, side asc
                )
        end as rank_in_sample,
        passes
        and row_number() over (
            partition by sample_id, passes
            order by score desc, dup_cmd_ratio asc, eval_run_id asc, rollout asc, side asc
        ) = 1 as is_selected
    from verdicts

)

select * from credit_mix_sides
