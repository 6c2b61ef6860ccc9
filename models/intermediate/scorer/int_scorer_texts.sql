with turns as (

    select * from {{ ref('int_turns') }}

),

duel_messages as (

    select * from {{ ref('stg_sn97__messages') }}
    where format = 'current'

),

int_scorer_texts as (

    select
        turns.side_id,
        turns.turn,
        turns.command,
        turns.command_kind,
        turns.failed,
        said.content as said,
        seen.content as seen
    from turns
    inner join duel_messages as said
        on
            turns.artifact_id = said.artifact_id
            and turns.line = said.line
            and turns.side = said.side
            and turns.message_index = said.message_index
    left join duel_messages as seen
        on
            turns.artifact_id = seen.artifact_id
            and turns.line = seen.line
            and turns.side = seen.side
            and turns.observation_message_index = seen.message_index

)

select * from int_scorer_texts
