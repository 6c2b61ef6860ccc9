with source as (

    select * from {{ landed('sn120', 'trajectory_messages') }}

),

renamed as (

    select
        ----------  ids
        artifact_id,
        line,
        traj_id,
        message_index,

        ----------  strings
        role,
        content,

        ----------  numerics
        parent,

        ----------  documents
        cast(other_fields as json) as other_fields
    from source

)

select * from renamed
