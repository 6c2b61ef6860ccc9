with gated_turns as (

    select * from {{ ref('mix_gated_turns') }}
    where source = 'sn97' and is_counted

),

sides as (

    select * from {{ ref('credit_mix_sides') }}

),

judged as (

    select
        side_id,
        turn_id,
        turn,
        bool_and(verdict = 'pass') filter (where kind = 'credit') as passes_credit,
        bool_and(verdict = 'pass') filter (where kind = 'escape') as passes_escape
    from gated_turns
    group by side_id, turn_id, turn

),

mix_turn_verdicts as (

    select
        sides.eval_run_id,
        sides.sample_id,
        sides.rollout,
        sides.side,
        judged.turn,
        judged.turn_id,
        coalesce(judged.passes_credit, false) as passes_credit,
        coalesce(judged.passes_escape, false) as passes_escape,
        sides.passes as side_passes,
        coalesce(judged.passes_credit, false) and sides.is_selected as trains_in_credit_mix
    from judged
    inner join sides on judged.side_id = sides.side_id

)

select * from mix_turn_verdicts
