{#
    Every turn that a mix looks at, and what became of it: `train` or `context` in a row of the file, or `left` with the
    step and gate where it, or the row that it would have been part of, stayed behind.
#}
with gates as (

    select * from {{ ref('int_mix_gates') }}

),

asked_of_sides as (

    select
        gates.mix,
        gates.step_order,
        side_gates.side_id,
        side_gates.gate,
        side_gates.value,
        side_gates.verdict
    from gates
    inner join {{ ref('mix_side_gates') }} as side_gates
        on gates.source = side_gates.source and gates.gate = side_gates.gate
    where gates.is_asked and gates.subject = 'side' and gates.unit = 'turn'

),

-- The turn of a side that a mix of turns does not take never became a row: the gates of its side say why.
judged_sides as (

    select
        mix,
        side_id,
        {{ first_failed(['step_order', 'gate', 'value', 'verdict']) }} as failed
    from asked_of_sides
    group by mix, side_id

),

placed as (

    select
        *,
        mix || '/' || case unit when 'turn' then turn_id else side_id end as row_id
    from {{ ref('mix_gated_turns') }}

),

-- The first gate that its row does not pass; in a mix of turns also the first that it or its side does not pass.
judged as (

    select
        placed.*,
        case
            when placed.unit = 'turn'
                then list_min([judged_sides.failed, placed.failed, row_outcomes.failed])
            else row_outcomes.failed
        end as failed_as_row,
        messages.train,
        messages.demotion_reason,
        messages.audit_verdict,
        messages.audit_reason,
        messages.turn_id is not null as is_in_row
    from placed
    left join judged_sides on placed.mix = judged_sides.mix and placed.side_id = judged_sides.side_id
    left join {{ ref('mix_row_outcomes') }} as row_outcomes
        on placed.mix = row_outcomes.mix and placed.row_id = row_outcomes.row_id
    left join {{ ref('mix_audited_messages') }} as messages
        on placed.mix = messages.mix and placed.row_id = messages.row_id and placed.turn_id = messages.turn_id

),

-- In a row that stays, a turn is what its message is; what the row does not reach is cut off with its gate.
decided as (

    select
        mix,
        unit,
        turn_id,
        row_id,
        case
            when failed_as_row is not null then 'left'
            when is_in_row and train then 'train'
            when is_in_row then 'context'
            else 'left'
        end as outcome,
        case
            when failed_as_row is not null then struct_extract(failed_as_row, 'gate')
            when is_in_row then demotion_reason
            else struct_extract(failed, 'gate')
        end as gate,
        case
            when failed_as_row is not null then struct_extract(failed_as_row, 'verdict')
            when is_in_row and train then 'pass'
            when is_in_row and demotion_reason = 'no_duplicate_target' then 'fail'
            when is_in_row and demotion_reason = 'span_proven' then audit_verdict
            else verdict
        end as verdict,
        case
            when failed_as_row is not null then struct_extract(failed_as_row, 'value')
            else struct_extract(failed, 'value')
        end as value,
        case when failed_as_row is null and is_in_row and demotion_reason = 'span_proven' then audit_reason end
            as audit_reason
    from judged

),

reasoned as (

    select
        decided.mix,
        decided.unit,
        decided.turn_id,
        decided.row_id,
        decided.outcome,
        decided.gate,
        decided.verdict,
        decided.value,
        gates.step_order,
        gates.step,
        gates.limit_value,
        gates.asks,
        gates.passes,
        gates.fails,
        coalesce(
            decided.audit_reason, {{ gate_reason('decided.verdict', 'decided.value', 'gates') }}
        ) as reason
    from decided
    left join gates on decided.mix = gates.mix and decided.gate = gates.gate

),

mix_turn_outcomes as (

    select
        reasoned.mix,
        reasoned.unit,
        reasoned.turn_id,
        reasoned.row_id,
        facts.side_id,
        facts.artifact_id,
        facts.line,
        facts.text_side as side,
        facts.turn,
        facts.message_index,
        reasoned.outcome,
        reasoned.step_order,
        reasoned.step,
        reasoned.gate,
        reasoned.verdict,
        reasoned.value,
        reasoned.reason,
        case
            when reasoned.gate is not null
                then {{ gate_statement('reasoned.verdict', 'reasoned.value', 'reasoned.reason', 'reasoned') }}
        end as statement
    from reasoned
    inner join {{ ref('mix_turn_facts') }} as facts on reasoned.turn_id = facts.turn_id

)

select * from mix_turn_outcomes
