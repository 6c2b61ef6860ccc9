with turn_gates as (

    select * from {{ ref('turn_gates') }}

),

sides as (

    select * from {{ ref('credit_mix_sides') }}

),

judged as (

    select
        eval_run_id,
        sample_id,
        rollout,
        side,
        turn,
        bool_and(verdict = 'pass') filter (where credit_mix) as passes_credit,
        bool_and(verdict = 'pass') filter (where escape_mix) as passes_escape
    from turn_gates
    group by eval_run_id, sample_id, rollout, side, turn

),

mix_turn_verdicts as (

    select
        judged.eval_run_id,
        judged.sample_id,
        judged.rollout,
        judged.side,
        judged.turn,
        coalesce(judged.passes_credit, false) as passes_credit,
        coalesce(judged.passes_escape, false) as passes_escape,
        sides.passes as side_passes,
        coalesce(judged.passes_credit, false) and sides.is_selected as trains_in_credit_mix
    from judged
    inner join sides
        on
            judged.eval_run_id = sides.eval_run_id
            and judged.sample_id = sides.sample_id
            and judged.rollout = sides.rollout
            and judged.side = sides.side

)

select * from mix_turn_verdicts
