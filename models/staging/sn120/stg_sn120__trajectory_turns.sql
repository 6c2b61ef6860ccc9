with source as (

    select * from {{ landed('sn120', 'trajectory_turns') }}

),

renamed as (

    select
        ----------  ids
        artifact_id,
        line,
        traj_id,
        turn_index,
        turn_idx,
        node_id,

        ----------  strings
        phase,

        ----------  numerics
        msg_pos,
        suffix_len,
        n_prefix_chars,

        ----------  documents
        cast(other_fields as json) as other_fields
    from source

)

select * from renamed
