with source as (

    select * from {{ landed('sn97', 'pipeline_states') }}

),

renamed as (

    select
        ----------  ids
        artifact_id,
        line,

        ----------  timestamps
        updated_at as updated_at_text,
        {{ utc_timestamp('updated_at') }} as updated_at,

        ----------  documents
        {{ as_json('counts') }} as counts,
        {{ as_json('stages') }} as stages,
        {{ as_json('other_fields') }} as other_fields
    from source

)

select * from renamed
