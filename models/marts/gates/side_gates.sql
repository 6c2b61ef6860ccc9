with sides as (

    select * from {{ ref('mix_sides') }}

),

judged as (

    select * from {{ ref('mix_side_gates') }}
    where source = 'sn97'

),

side_gates as (

    select
        sides.eval_run_id,
        sides.sample_id,
        sides.rollout,
        sides.side,
        judged.side_id,
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

select * from side_gates
