with source as (

    select * from {{ landed('gateway', 'tensors') }}

),

renamed as (

    select
        ----------  ids
        artifact_id,
        line,
        fixture,
        checkpoint,
        tensor,

        ----------  strings
        dtype,

        ----------  numerics
        begin_offset,
        end_offset,

        ----------  documents
        cast(shape as json) as shape
    from source

)

select * from renamed
