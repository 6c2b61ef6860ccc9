-- Turns of a side that does not count have no credit, and no judge saw those of a trajectory.
with mix_turn_facts as (

    select
        side_turns.turn_id,
        sides.side_id,
        sides.source,
        sides.artifact_id,
        sides.line,
        sides.text_side,
        side_turns.turn,
        side_turns.message_index,
        side_turns.command_key,
        side_turns.command_kind,
        side_turns.is_repeat,
        side_turns.follows_failure,
        side_turns.failures_before,
        side_turns.leaves_repeats,
        side_turns.repeats_before,
        side_turns.n_bash_blocks,
        side_turns.think_state <> 'unclosed' as think_closed,
        not side_turns.is_repeat as not_repeat,
        not side_turns.is_truncated and not side_turns.is_abandoned as not_sentinel,
        side_turns.leaves_repeats and side_turns.command_key is not null as breaks_out,
        credited.turn is not null as is_counted,
        credited.credit_split as credit,
        credited.is_escape,
        credited.is_recovery,
        case when sides.eval_run_id is null then cast([] as varchar[]) else credited.tags end as tags
    from {{ ref('mix_sides') }} as sides
    inner join {{ ref('int_turns') }} as side_turns on sides.side_id = side_turns.side_id
    left join {{ ref('turns') }} as credited on side_turns.turn_id = credited.turn_id

)

select * from mix_turn_facts
