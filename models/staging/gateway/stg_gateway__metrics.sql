with source as (

    select * from {{ landed('gateway', 'metrics') }}

),

renamed as (

    select
        ----------  ids
        artifact_id,
        line,
        fixture,
        run,

        ----------  numerics
        step,
        loss,
        compliance_train,
        accuracy_train,
        preserve_rate,
        elapsed_s,

        ----------  documents
        cast(other_fields as json) as other_fields
    from source

)

select * from renamed
