with sides as (

    select * from {{ ref('mix_sides') }}
    where is_counted

),

side_gates as (

    select * from {{ ref('mix_side_gates') }}
    where credit_mix

),

gates as (

    select * from {{ ref('int_mix_gates') }}
    where source = 'sn97' and kind = 'credit'

),

row_gates as (

    select * from {{ ref('mix_row_gates') }}

),

candidates as (

    select * from {{ ref('mix_candidates') }}

),

judged as (

    select
        side_id,
        count(*) filter (where verdict = 'fail') as n_failed,
        count(*) filter (where verdict = 'unknown') as n_unknown,
        count(*) filter (where verdict <> 'pass') = 0 as passes
    from side_gates
    group by side_id

),

ranked as (

    select
        candidates.side_id,
        cast(row_gates.value as bigint) as rank_in_sample
    from row_gates
    inner join candidates on row_gates.mix = candidates.mix and row_gates.row_id = candidates.row_id
    inner join gates on row_gates.mix = gates.mix and row_gates.gate = gates.gate
    where gates.measure = 'rank_in_sample'

),

-- Every gate has to pass; no gate at all passes nothing.
credit_mix_sides as (

    select
        sides.eval_run_id,
        sides.sample_id,
        sides.rollout,
        sides.side,
        sides.side_id,
        sides.score,
        coalesce(judged.n_failed, 0) as n_failed,
        coalesce(judged.n_unknown, 0) as n_unknown,
        coalesce(judged.passes, false) as passes,
        ranked.rank_in_sample,
        coalesce(judged.passes and ranked.rank_in_sample = 1, false) as is_selected
    from sides
    left join judged on sides.side_id = judged.side_id
    left join ranked on sides.side_id = ranked.side_id

)

select * from credit_mix_sides
