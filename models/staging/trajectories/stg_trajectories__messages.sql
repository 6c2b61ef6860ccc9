with source as (

    select * from {{ landed('trajectories', 'messages') }}

),

renamed as (

    select
        ----------  ids
        artifact_id,
        line,
        message_index,
        tool_call_id,

        ----------  strings
        role,
        content,

        ----------  numerics
        returncode,

        ----------  documents
        tool_calls
    from source

)

select * from renamed
