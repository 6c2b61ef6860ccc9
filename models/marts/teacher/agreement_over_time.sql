with agreement as (

    select
        *,
        cast(published_at at time zone 'UTC' as date) as day
    from {{ ref('reference_agreement') }}

),

agreement_over_time as (

    select
        corpus_epoch,
        day,
        {{ agreement_columns() }}
    from agreement
    group by corpus_epoch, day

)

select * from agreement_over_time
order by corpus_epoch, day
