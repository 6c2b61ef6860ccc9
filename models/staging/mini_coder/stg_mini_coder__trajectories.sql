with source as (

    select * from {{ landed('mini_coder', 'trajectories') }}

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
        cast(other_fields as json) as other_fields
    from source

)

select * from renamed
