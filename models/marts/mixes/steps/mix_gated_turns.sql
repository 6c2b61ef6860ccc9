with judged as (

    select
        mix,
        turn_id,
        {{ first_failed(['step_order', 'gate', 'value', 'verdict']) }} as failed
    from {{ ref('mix_turn_gates') }}
    group by mix, turn_id

),

mix_gated_turns as (

    select
        plan.mix,
        plan.kind,
        plan.source,
        plan.unit,
        facts.turn_id,
        facts.side_id,
        facts.turn,
        facts.message_index,
        facts.turn between coalesce(plan.window_first_turn, facts.turn) and coalesce(plan.window_last_turn, facts.turn)
            as is_in_window,
        facts.turn <= plan.window_last_turn as is_before_window_ends,
        facts.is_repeat,
        facts.is_counted,
        judged.failed,
        coalesce(struct_extract(judged.failed, 'verdict'), 'pass') as verdict
    from {{ ref('mix_turn_facts') }} as facts
    inner join {{ ref('mix_plan') }} as plan on facts.source = plan.source
    left join judged on plan.mix = judged.mix and facts.turn_id = judged.turn_id

)

select * from mix_gated_turns
