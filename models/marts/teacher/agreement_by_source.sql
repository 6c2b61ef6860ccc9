with agreement as (

    select * from {{ ref('reference_agreement') }}

),

tags as (

    select
        corpus_epoch,
        turn_id,
        coalesce(source, '') as source
    from {{ ref('int_turn_candidates') }}

),

tagged as (

    select
        agreement.*,
        tags.source
    from agreement
    inner join tags
        on agreement.corpus_epoch is not distinct from tags.corpus_epoch and agreement.turn_id = tags.turn_id

),

agreement_by_source as (

    select
        corpus_epoch,
        source,
        {{ agreement_columns() }}
    from tagged
    group by corpus_epoch, source

)

select * from agreement_by_source
order by corpus_epoch, source
