with source as (

    select * from {{ landed('sn97', 'fault_responses') }}

),

renamed as (

    select
        ----------  ids
        artifact_id,
        line,
        submission_id,
        response_index,

        ----------  strings
        prompt,
        response
    from source

)

select * from renamed
