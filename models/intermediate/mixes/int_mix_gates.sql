-- A limit stands in one place: with its gate, or in the plan where every mix has its own. What the plan leaves open, or
-- a setting switches off, is not asked; a gate that has no limit at all is asked and unknown.
with limits as (

    select
        steps.mix,
        plan.position as mix_position,
        plan.kind,
        plan.source,
        plan.unit,
        steps.step_order,
        steps.step,
        gates.* exclude (limit_value),
        case gates.limit_from
            when 'window_first_turn' then plan.window_first_turn
            when 'window_last_turn' then plan.window_last_turn
            when 'row_cap' then plan.row_cap
            else gates.limit_value
        end as limit_value,
        case gates.setting when 'drop_contaminated' then {{ var('drop_contaminated') }} else true end as is_set
    from {{ ref('mix_steps') }} as steps
    inner join {{ ref('gates') }} as gates on steps.gate = gates.gate
    inner join {{ ref('mix_plan') }} as plan on steps.mix = plan.mix

),

int_mix_gates as (

    select
        mix,
        mix_position,
        kind,
        source,
        unit,
        step_order,
        step,
        gate,
        subject,
        measure,
        comparison,
        limit_value,
        asks,
        passes,
        fails,
        unknown_reason,
        reason,
        is_set and (limit_from is null or limit_value is not null) as is_asked,
        row_number() over (partition by source, gate order by mix_position) = 1 as is_first_of_source,
        bool_or(kind = 'credit') over (partition by source, gate) as credit_mix,
        bool_or(kind = 'escape') over (partition by source, gate) as escape_mix
    from limits

)

select * from int_mix_gates
