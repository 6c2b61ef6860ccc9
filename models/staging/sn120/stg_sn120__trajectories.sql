with source as (

    select * from {{ landed('sn120', 'trajectories') }}

),

renamed as (

    select
        ----------  ids
        artifact_id,
        line,
        traj_id,
        rollout_id,
        instance_id,

        ----------  strings
        repo,
        model,
        action_kind,
        source,
        language,
        phase,
        stratum,

        ----------  numerics
        n_messages,
        n_turns,

        ----------  timestamps
        generated_at as generated_at_text,
        {{ utc_timestamp('generated_at') }} as generated_at,

        ----------  documents
        cast(other_fields as json) as other_fields
    from source

)

select * from renamed
