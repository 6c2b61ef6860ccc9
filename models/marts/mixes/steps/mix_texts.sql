with messages as (

    select * from {{ ref('int_mix_messages') }}

),

mix_texts as (

    select
        candidate_messages.mix,
        candidate_messages.row_id,
        candidate_messages.message_index,
        candidate_messages.role,
        candidate_messages.train,
        coalesce(messages.content, '') as content,
        candidate_messages.text_artifact_id,
        candidate_messages.text_line
    from {{ ref('mix_candidate_messages') }} as candidate_messages
    inner join messages
        on
            candidate_messages.text_source = messages.source
            and candidate_messages.text_artifact_id = messages.artifact_id
            and candidate_messages.text_line = messages.line
            and candidate_messages.text_side is not distinct from messages.text_side
            and candidate_messages.text_message_index = messages.message_index

)

select * from mix_texts
