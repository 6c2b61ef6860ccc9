with conditions as (

    select * from {{ ref('measures_by_condition') }}
    where experiment = 'context'

),

measures as (

    select
        fixture,
        checkpoint,
        condition as context,
        seed,
        status,
        reason,
        {{ measure_column_names() | join(',\n        ') }}
    from conditions

)

select * from measures
order by fixture, checkpoint, context
