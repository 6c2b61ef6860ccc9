with source as (

    select * from {{ landed('gateway', 'corpus_stats') }}

),

renamed as (

    select
        ----------  ids
        artifact_id,
        line,
        fixture,

        ----------  numerics
        episodes,

        ----------  documents
        {{ as_json('category_counts') }} as category_counts,
        {{ as_json('tag_counts') }} as tag_counts,
        {{ as_json('other_fields') }} as other_fields
    from source

)

select * from renamed
