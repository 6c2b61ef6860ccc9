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
        cast(category_counts as json) as category_counts,
        cast(tag_counts as json) as tag_counts,
        cast(other_fields as json) as other_fields
    from source

)

select * from renamed
