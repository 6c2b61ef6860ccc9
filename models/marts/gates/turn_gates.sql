with sides as (

    select * from {{ ref('mix_sides') }}

),

-- A gate that several mixes ask stands once.
judged as (

    select * from {{ ref('mix_turn_gates') }}
    where source = 'sn97' and is_counted and is_first_of_source

),

turn_gates as (

    select
        sides.eval_run_id,
        sides.sample_id,
        sides.rollout,
        sides.side,
        judged.turn,
        judged.turn_id,
        judged.gate,
        judged.value,
        judged.comparison,
        judged.limit_value as "limit",
        judged.verdict,
        judged.reason,
        judged.statement,
        judged.credit_mix,
        judged.escape_mix
    from judged
    inner join sides on judged.side_id = sides.side_id

)

select * from turn_gates
