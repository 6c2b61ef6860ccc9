with source as (

    select * from {{ landed('trajectories', 'messages') }}

),

renamed as (

    select
        ----------  ids
        artifact_id,
        line,
        message_index,

        ----------  strings
        role,
        content
    from source

)

select * from renamed
