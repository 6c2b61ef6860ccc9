with source as (

    select * from {{ landed('sn97', 'log_entries') }}

),

renamed as (

    select
        ----------  ids
        artifact_id,
        line,
        eval_run_id,
        key,

        ----------  strings
        value
    from source

)

select * from renamed
