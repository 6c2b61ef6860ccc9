with source as (

    select * from {{ landed('sn120', 'manifest_entries') }}

),

renamed as (

    select
        ----------  ids
        artifact_id,
        line,
        list_name,
        entry_index,
        key,

        ----------  strings
        sha256,
        format,

        ----------  numerics
        n_trajectories,
        n_turns,

        ----------  booleans
        active,

        ----------  documents
        cast(other_fields as json) as other_fields
    from source

)

select * from renamed
