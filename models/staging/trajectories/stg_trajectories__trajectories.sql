with source as (

    select * from {{ landed('trajectories', 'trajectories') }}

),

renamed as (

    select
        ----------  ids
        artifact_id,
        line,
        trajectory_id,
        instance_id,

        ----------  strings
        model,
        repo,
        language,
        family,

        ----------  numerics
        first_edit,
        n_messages,

        ----------  booleans
        resolved,
        verified,

        ----------  documents
        {{ as_json('other_fields') }} as other_fields
    from source

)

select * from renamed
