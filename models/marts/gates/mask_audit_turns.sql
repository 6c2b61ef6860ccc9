with audited as (

    select * from {{ landed('steps', 'mix_audit_turns', made_by='mask_audit') }}

),

mask_audit_turns as (

    select
        mix,
        row_id,
        message_index,
        first_token,
        end_token,
        n_tokens,
        stop_token_in_span,
        decoded_equal,
        n_boundary_merges,
        verdict,
        reason
    from audited

)

select * from mask_audit_turns
order by mix, row_id, message_index
