with source as (

    select * from {{ landed('sn120', 'manifests') }}

),

renamed as (

    select
        ----------  ids
        artifact_id,
        line,

        ----------  strings
        index_key,
        index_sha256,
        prev_manifest,

        ----------  numerics
        corpus_epoch,
        schema_version,
        index_n_turns,
        n_entries,

        ----------  booleans
        is_pointer,

        ----------  timestamps
        created_at as created_at_text,
        {{ utc_timestamp('created_at') }} as created_at,

        ----------  documents
        cast(other_fields as json) as other_fields
    from source

)

select * from renamed
