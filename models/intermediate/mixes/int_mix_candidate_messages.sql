with verdicts as (

    select * from {{ ref('int_mix_row_verdicts') }}
    where verdict = 'pass'

),

duel_messages as (

    select * from {{ ref('stg_sn97__messages') }}

),

mini_messages as (

    select * from {{ ref('stg_mini_coder__messages') }}

),

credit_turns as (

    select * from {{ ref('turns') }}

),

side_turns as (

    select * from {{ ref('int_turns') }}

),

duel_verdicts as (

    select * from {{ ref('int_mix_duel_turn_verdicts') }}

),

mini_verdicts as (

    select * from {{ ref('int_mix_mini_turn_verdicts') }}

),

duel_rows as (

    select
        verdicts.mix,
        verdicts.row_id,
        verdicts.turn as only_turn,
        verdicts.text_source,
        verdicts.artifact_id as text_artifact_id,
        verdicts.line as text_line,
        verdicts.side as text_side,
        duel_messages.message_index as text_message_index,
        duel_messages.role
    from verdicts
    inner join duel_messages
        on
            verdicts.artifact_id = duel_messages.artifact_id
            and verdicts.line = duel_messages.line
            and verdicts.side = duel_messages.side
            and coalesce(verdicts.last_message_index, duel_messages.message_index) >= duel_messages.message_index
    where verdicts.text_source = 'sn97'

),

mini_rows as (

    select
        verdicts.mix,
        verdicts.row_id,
        verdicts.turn as only_turn,
        verdicts.text_source,
        verdicts.artifact_id as text_artifact_id,
        verdicts.line as text_line,
        cast(null as varchar) as text_side,
        mini_messages.message_index as text_message_index,
        mini_messages.role
    from verdicts
    inner join mini_messages
        on
            verdicts.artifact_id = mini_messages.artifact_id
            and verdicts.line = mini_messages.line
            and verdicts.last_message_index >= mini_messages.message_index
    where verdicts.text_source = 'mini_coder'

),

described as (

    select
        duel_rows.*,
        credit_turns.turn,
        credit_turns.command_kind,
        credit_turns.credit_split as credit,
        credit_turns.tags,
        credit_turns.is_recovery,
        side_turns.command_key,
        duel_verdicts.gate as failed_gate
    from duel_rows
    left join credit_turns
        on
            duel_rows.text_artifact_id = credit_turns.artifact_id
            and duel_rows.text_line = credit_turns.line
            and duel_rows.text_side = credit_turns.side
            and duel_rows.text_message_index = credit_turns.message_index
    left join side_turns
        on
            duel_rows.text_artifact_id = side_turns.artifact_id
            and duel_rows.text_line = side_turns.line
            and duel_rows.text_side = side_turns.side
            and duel_rows.text_message_index = side_turns.message_index
    left join duel_verdicts
        on
            duel_rows.mix = duel_verdicts.mix
            and duel_rows.text_artifact_id = duel_verdicts.artifact_id
            and duel_rows.text_line = duel_verdicts.line
            and duel_rows.text_side = duel_verdicts.side
            and duel_rows.text_message_index = duel_verdicts.message_index
    union all
    select
        mini_rows.*,
        side_turns.turn,
        side_turns.command_kind,
        -- No judge saw these turns.
        cast(null as double) as credit,
        case when side_turns.turn is not null then cast([] as varchar[]) end as tags,
        cast(null as boolean) as is_recovery,
        side_turns.command_key,
        mini_verdicts.gate as failed_gate
    from mini_rows
    left join side_turns
        on
            mini_rows.text_artifact_id = side_turns.artifact_id
            and mini_rows.text_line = side_turns.line
            and mini_rows.text_message_index = side_turns.message_index
    left join mini_verdicts
        on
            mini_rows.mix = mini_verdicts.mix
            and mini_rows.text_artifact_id = mini_verdicts.artifact_id
            and mini_rows.text_line = mini_verdicts.line
            and side_turns.turn = mini_verdicts.turn

),

-- A turn of a row of one turn is context without being demoted: it was never that row's target.
chosen as (

    select
        *,
        turn is not null and (only_turn is null or only_turn = turn) as is_target,
        turn is not null and (only_turn is null or only_turn = turn) and failed_gate is null as passes
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

int_mix_candidate_messages as (

    select
        mix,
        row_id,
        row_number() over (partition by mix, row_id order by text_message_index) - 1 as message_index,
        role,
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

select * from int_mix_candidate_messages
order by text_artifact_id, mix, row_id, message_index
