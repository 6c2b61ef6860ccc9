with source as (

    select * from {{ landed('sn97', 'progress_events') }}

),

renamed as (

    select
        ----------  ids
        artifact_id,
        line,
        eval_run_id,
        stated_eval_run_id,
        sequence,

        ----------  strings
        type,
        message,

        ----------  documents
        cast(other_fields as json) as other_fields
    from source

)

select * from renamed
