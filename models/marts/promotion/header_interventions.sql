with conditions as (

    select * from {{ ref('measures_by_condition') }}
    where experiment = 'header'

),

header_interventions as (

    select
        fixture,
        checkpoint,
        condition,
        split_part(condition, '/', 1) as ctx,
        split_part(condition, '/', 2) as src,
        split_part(condition, '/', 3) as shard_half,
        seed,
        status,
        reason,
        {{ measure_column_names() | join(',\n        ') }}
    from conditions

)

select * from header_interventions
order by fixture, checkpoint, ctx, src, shard_half
