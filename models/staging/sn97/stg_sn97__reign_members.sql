with source as (

    select * from {{ landed('sn97', 'reign_members') }}

),

renamed as (

    select
        ----------  ids
        artifact_id,
        line,
        member_index,
        eval_run_id,

        ----------  strings
        model_uri,
        {{ model_uri_columns('model_uri') }},
        model_hash,
        hotkey,

        ----------  numerics
        king_version,
        uid,
        weight_bps,
        score_king,
        score_challenger,

        ----------  booleans
        is_king,

        ----------  documents
        cast(other_fields as json) as other_fields
    from source

)

select * from renamed
