with int_mix_messages as (

    select
        'sn97' as source,
        artifact_id,
        line,
        side as text_side,
        message_index,
        role,
        content
    from {{ ref('stg_sn97__messages') }}
    where format = 'current'
    union all
    select
        source,
        artifact_id,
        line,
        cast(null as varchar) as text_side,
        message_index,
        role,
        content
    from {{ ref('stg_trajectories__messages') }}

)

select * from int_mix_messages
