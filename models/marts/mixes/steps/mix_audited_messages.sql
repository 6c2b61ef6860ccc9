-- A turn that trains needs its own proof: one without a verdict is demoted like one that fails.
with mix_audited_messages as (

    select
        messages.mix,
        messages.row_id,
        messages.message_index,
        messages.role,
        messages.turn_id,
        messages.turn,
        messages.train and coalesce(audited_turns.verdict = 'pass', false) as train,
        messages.credit,
        messages.tags,
        messages.is_recovery,
        messages.command_kind,
        case
            when messages.train and coalesce(audited_turns.verdict <> 'pass', true) then 'span_proven'
            else messages.demotion_reason
        end as demotion_reason,
        case when messages.train then audited_turns.reason end as audit_reason,
        audited_turns.n_tokens,
        case when messages.train then coalesce(audited_turns.verdict, 'unknown') end as audit_verdict,
        mask_audit.verdict as row_verdict
    from {{ ref('mix_candidate_messages') }} as messages
    inner join {{ ref('mask_audit') }} as mask_audit
        on messages.mix = mask_audit.mix and messages.row_id = mask_audit.row_id
    left join {{ ref('mask_audit_turns') }} as audited_turns
        on
            messages.mix = audited_turns.mix
            and messages.row_id = audited_turns.row_id
            and messages.message_index = audited_turns.message_index

)

select * from mix_audited_messages
