-- Every counted side has the turns 1 to n, each once, and n is what the side says.
with sides as (

    select * from {{ ref('sides') }}
    where is_counted

),

turns as (

    select * from {{ ref('turns') }}

),

counted as (

    select
        side_id,
        count(*) as n_found,
        count(distinct turn) as n_distinct,
        min(turn) as first_turn,
        max(turn) as last_turn
    from turns
    group by side_id

)

select
    sides.side_id,
    sides.n_turns,
    counted.n_found,
    counted.first_turn,
    counted.last_turn
from sides
left join counted on sides.side_id = counted.side_id
where
    coalesce(counted.n_found, 0) <> sides.n_turns
    or counted.n_distinct <> counted.n_found
    or counted.first_turn <> 1
    or counted.last_turn <> sides.n_turns
