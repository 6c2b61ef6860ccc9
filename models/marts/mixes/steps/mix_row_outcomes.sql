with judged as (

    select
        mix,
        row_id,
        {{ first_failed(['step_order', 'gate', 'value', 'verdict']) }} as failed
    from {{ ref('row_gates') }}
    group by mix, row_id

),

mix_row_outcomes as (

    select
        candidates.mix,
        candidates.row_id,
        candidates.side_id,
        candidates.turn_id,
        case when judged.failed is null then 'file' else 'left' end as outcome,
        judged.failed
    from {{ ref('mix_candidates') }} as candidates
    left join judged on candidates.mix = judged.mix and candidates.row_id = judged.row_id

)

select * from mix_row_outcomes
