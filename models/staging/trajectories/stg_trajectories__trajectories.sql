with landed as (

    select
        'mini_coder' as source,
        *
    from {{ landed('mini_coder', 'trajectories') }}
    union all by name
    select
        'trajectories' as source,
        *
    from {{ landed('trajectories', 'trajectories') }}

),

renamed as (

    select
        ----------  ids
        artifact_id,
        line,
        trajectory_id,
        instance_id,

        ----------  strings
        source,
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
    from landed

)

select * from renamed
