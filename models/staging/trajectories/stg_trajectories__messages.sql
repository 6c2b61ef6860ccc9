with landed as (

    select
        'mini_coder' as source,
        *
    from {{ landed('mini_coder', 'messages') }}
    union all by name
    select
        'trajectories' as source,
        *
    from {{ landed('trajectories', 'messages') }}

),

renamed as (

    select
        ----------  ids
        artifact_id,
        line,
        message_index,
        tool_call_id,

        ----------  strings
        source,
        role,
        content,

        ----------  numerics
        returncode,

        ----------  documents
        tool_calls
    from landed

)

select * from renamed
