with source as (

    select * from {{ landed('gateway', 'corpus_episodes') }}

),

renamed as (

    select
        ----------  ids
        artifact_id,
        line,
        fixture,

        ----------  documents
        prompt,
        continuation
    from source

)

select * from renamed
