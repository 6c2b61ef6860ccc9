with messages as (

    select * from {{ ref('int_mix_candidate_messages') }}

),

duel_messages as (

    select * from {{ ref('stg_sn97__messages') }}

),

mini_messages as (

    select * from {{ ref('stg_mini_coder__messages') }}

),

int_mix_texts as (

    select
        messages.mix,
        messages.row_id,
        messages.message_index,
        messages.role,
        messages.train,
        coalesce(duel_messages.content, '') as content,
        messages.text_artifact_id,
        messages.text_line
    from messages
    inner join duel_messages
        on
            messages.text_artifact_id = duel_messages.artifact_id
            and messages.text_line = duel_messages.line
            and messages.text_side = duel_messages.side
            and messages.text_message_index = duel_messages.message_index
    where messages.text_source = 'sn97'
    union all
    select
        messages.mix,
        messages.row_id,
        messages.message_index,
        messages.role,
        messages.train,
        coalesce(mini_messages.content, '') as content,
        messages.text_artifact_id,
        messages.text_line
    from messages
    inner join mini_messages
        on
            messages.text_artifact_id = mini_messages.artifact_id
            and messages.text_line = mini_messages.line
            and messages.text_message_index = mini_messages.message_index
    where messages.text_source = 'mini_coder'

)

select * from int_mix_texts
