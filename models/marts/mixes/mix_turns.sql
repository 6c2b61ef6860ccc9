with messages as (

    select * from {{ ref('mix_audited_messages') }}
    where row_verdict = 'pass'

),

mix_rows as (

    select * from {{ ref('mix_rows') }}

),

mix_turns as (

    select
        messages.mix,
        messages.row_id,
        messages.message_index,
        messages.role,
        messages.turn_id,
        messages.turn,
        messages.train,
        messages.credit,
        messages.tags,
        messages.is_recovery,
        messages.command_kind,
        messages.demotion_reason,
        case when messages.train then messages.n_tokens end as n_tokens
    from messages
    inner join mix_rows on messages.mix = mix_rows.mix and messages.row_id = mix_rows.row_id

)

select * from mix_turns
order by mix, row_id, message_index
