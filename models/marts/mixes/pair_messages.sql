with pairs as (

    select * from {{ ref('pair_candidates') }}

),

duel_sides as (

    select * from {{ ref('mix_sides') }}

),

messages as (

    select * from {{ ref('stg_sn97__messages') }}
    where format = 'current'

),

-- Both sides of a rollout stand in one record.
placed as (

    select
        'pairs/' || pairs.chosen_side_id as row_id,
        duel_sides.artifact_id,
        duel_sides.line,
        pairs.chosen_side,
        pairs.rejected_side
    from pairs
    inner join duel_sides on pairs.chosen_side_id = duel_sides.side_id

),

chosen as (

    select
        placed.row_id,
        messages.*
    from placed
    inner join messages
        on
            placed.artifact_id = messages.artifact_id
            and placed.line = messages.line
            and placed.chosen_side = messages.side

),

rejected as (

    select
        placed.row_id,
        messages.*
    from placed
    inner join messages
        on
            placed.artifact_id = messages.artifact_id
            and placed.line = messages.line
            and placed.rejected_side = messages.side

),

-- The first message in which the sides differ; where one has ended by then, it has no role.
forks as (

    select
        coalesce(chosen.row_id, rejected.row_id) as row_id,
        min(coalesce(chosen.message_index, rejected.message_index)) as message_index,
        arg_min(
            coalesce(chosen.role, '') = 'assistant' and coalesce(rejected.role, '') = 'assistant',
            coalesce(chosen.message_index, rejected.message_index)
        ) as is_reply
    from chosen
    full outer join rejected on chosen.row_id = rejected.row_id and chosen.message_index = rejected.message_index
    where chosen.role is distinct from rejected.role or chosen.content is distinct from rejected.content
    group by coalesce(chosen.row_id, rejected.row_id)

),

sides as (

    select
        'chosen' as mix,
        *
    from chosen
    union all
    select
        'rejected' as mix,
        *
    from rejected

),

pair_messages as (

    select
        sides.mix,
        sides.row_id,
        row_number() over (partition by sides.mix, sides.row_id order by sides.message_index) - 1 as message_index,
        sides.role,
        sides.message_index = forks.message_index as train,
        'sn97' as text_source,
        sides.artifact_id as text_artifact_id,
        sides.line as text_line,
        sides.side as text_side,
        sides.message_index as text_message_index
    from sides
    inner join forks on sides.row_id = forks.row_id and sides.message_index <= forks.message_index
    where forks.is_reply

)

select * from pair_messages
order by row_id, mix, message_index
