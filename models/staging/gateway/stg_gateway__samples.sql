with source as (

    select * from {{ landed('gateway', 'samples') }}

),

renamed as (

    select
        ----------  ids
        artifact_id,
        line,
        fixture,
        checkpoint,
        {{ checkpoint_columns('checkpoint') }},

        ----------  strings
        category,

        ----------  booleans
        refused,
        correct,

        ----------  documents
        prompt,
        scratchpad,
        answer,
        cast(other_fields as json) as other_fields
    from source

)

select * from renamed
