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
    union all
    select
        'mini_coder' as source,
        artifact_id,
        line,
        cast(null as varchar) as text_side,
        message_index,
        role,
        content
    from {{ ref('stg_mini_coder__messages') }}
    union all
    select
        'trajectories' as source,
        artifact_id,
        line,
        cast(null as varchar) as text_side,
        message_index,
        role,
        content
    from {{ ref('stg_trajectories__messages') }}

)

select * from int_mix_messages
