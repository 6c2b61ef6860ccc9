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
        cast(counts as json) as counts,
        cast(stages as json) as stages,
        cast(other_fields as json) as other_fields
    from source

)

select * from renamed
