with source as (

    select * from {{ landed('sn120', 'flat_turn_messages') }}

),

renamed as (

    select
        ----------  ids
        artifact_id,
        line,
        traj_id,
        turn_idx,
        message_index,

        ----------  strings
        role,
        content,

        ----------  documents
        cast(other_fields as json) as other_fields
    from source

)

select * from renamed
