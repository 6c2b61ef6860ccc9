with source as (

    select * from {{ landed('sn120', 'turn_index') }}

),

renamed as (

    select
        ----------  ids
        artifact_id,
        line,
        turn_id,
        traj_id,
        turn_idx,
        rollout_id,
        node_id,

        ----------  strings
        stratum,
        phase,
        source,
        language,
        chunk_key,
        action_kind,

        ----------  numerics
        traj_line,
        msg_pos,
        n_prefix_chars
    from source

)

select * from renamed
