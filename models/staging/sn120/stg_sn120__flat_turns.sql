with source as (

    select * from {{ landed('sn120', 'flat_turns') }}

),

renamed as (

    select
        ----------  ids
        artifact_id,
        line,
        traj_id,
        turn_idx,
        instance_id,

        ----------  strings
        reference_turn,
        repo,
        model,
        phase,
        action_kind,
        source,
        language,
        stratum,

        ----------  numerics
        suffix_len,
        n_prefix_chars,
        n_prefix_messages,

        ----------  timestamps
        generated_at as generated_at_text,
        {{ utc_timestamp('generated_at') }} as generated_at,

        ----------  documents
        cast(other_fields as json) as other_fields
    from source

)

select * from renamed
