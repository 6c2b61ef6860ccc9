with messages as (

    select * from {{ ref('int_mix_messages') }}

),

described as (

    select
        candidate_rows.mix,
        candidate_rows.row_id,
        candidate_rows.turn_id as only_turn,
        candidate_rows.text_source,
        candidate_rows.text_artifact_id,
        candidate_rows.text_line,
        candidate_rows.text_side,
        messages.message_index as text_message_index,
        messages.role,
        facts.turn,
        facts.turn_id,
        facts.command_kind,
        facts.command_key,
        facts.credit,
        case when facts.turn is not null then facts.tags end as tags,
        facts.is_recovery,
        gated_turns.verdict,
        struct_extract(gated_turns.failed, 'gate') as failed_gate
    from {{ ref('mix_candidate_rows') }} as candidate_rows
    inner join messages
        on
            candidate_rows.text_source = messages.source
            and candidate_rows.text_artifact_id = messages.artifact_id
            and candidate_rows.text_line = messages.line
            and candidate_rows.text_side is not distinct from messages.text_side
            and coalesce(candidate_rows.last_message_index, messages.message_index) >= messages.message_index
    left join {{ ref('mix_turn_facts') }} as facts
        on candidate_rows.side_id = facts.side_id and messages.message_index = facts.message_index
    left join {{ ref('mix_gated_turns') }} as gated_turns
        on candidate_rows.mix = gated_turns.mix and facts.turn_id = gated_turns.turn_id

),

-- A turn of a row of one turn is context without being demoted: it was never that row's target.
chosen as (

    select
        *,
        turn is not null and coalesce(only_turn = turn_id, true) as is_target,
        turn is not null and coalesce(only_turn = turn_id, true) and coalesce(verdict = 'pass', false) as passes
    from described

),

counted as (

    select
        *,
        case
            when passes and command_key is not null
                then row_number() over (
                    partition by mix, row_id, command_key, passes
                    order by text_message_index
                )
        end as nth_target_of_command
    from chosen

),

mix_candidate_messages as (

    select
        mix,
        row_id,
        row_number() over (partition by mix, row_id order by text_message_index) - 1 as message_index,
        role,
        turn_id,
        turn,
        passes and coalesce(nth_target_of_command, 1) = 1 as train,
        credit,
        tags,
        is_recovery,
        command_kind,
        case
            when is_target and failed_gate is not null then failed_gate
            when is_target and nth_target_of_command > 1 then 'no_duplicate_target'
        end as demotion_reason,
        text_source,
        text_artifact_id,
        text_line,
        text_side,
        text_message_index
    from counted

)

select * from mix_candidate_messages
order by text_artifact_id, mix, row_id, message_index
