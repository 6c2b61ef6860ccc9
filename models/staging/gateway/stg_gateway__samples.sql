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
        {{ as_json('other_fields') }} as other_fields
    from source

)

select * from renamed
