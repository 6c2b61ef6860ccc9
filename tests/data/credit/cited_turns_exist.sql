-- A valid citation names a turn that the table of turns has; a dangling one names none.
with citations as (

    select * from {{ ref('citations') }}

),

sides as (

    select * from {{ ref('sides') }}

),

turns as (

    select * from {{ ref('turns') }}

)

select
    citations.turn_id,
    citations.question_id,
    citations.valid,
    turns.turn as found_turn
from citations
inner join sides on citations.side_id = sides.side_id
left join turns on citations.turn_id = turns.turn_id
where sides.is_counted and citations.valid <> (turns.turn is not null)
