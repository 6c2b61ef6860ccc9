with duel_messages as (

    select * from {{ ref('stg_sn97__messages') }}

),

mini_messages as (

    select * from {{ ref('stg_mini_coder__messages') }}

),

own_messages as (

    select * from {{ ref('stg_trajectories__messages') }}

),

int_mix_messages as (

    select
        'sn97' as source,
        artifact_id,
        line,
        side as text_side,
        message_index,
        role,
        content
    from duel_messages
    union all
    select
        'mini_coder' as source,
        artifact_id,
        line,
        cast(null as varchar) as text_side,
        message_index,
        role,
        content
    from mini_messages
    union all
    select
        'trajectories' as source,
        artifact_id,
        line,
        cast(null as varchar) as text_side,
        message_index,
        role,
        content
    from own_messages

)

select * from int_mix_messages
