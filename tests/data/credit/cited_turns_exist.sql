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
    citations.eval_run_id,
    citations.sample_id,
    citations.rollout,
    citations.side,
    citations.question_id,
    citations.turn,
    citations.valid,
    turns.turn as found_turn
from citations
inner join sides
    on
        citations.eval_run_id = sides.eval_run_id
        and citations.sample_id = sides.sample_id
        and citations.rollout = sides.rollout
        and citations.side = sides.side
left join turns
    on
        citations.eval_run_id = turns.eval_run_id
        and citations.sample_id = turns.sample_id
        and citations.rollout = turns.rollout
        and citations.side = turns.side
        and citations.turn = turns.turn
where sides.is_counted and citations.valid <> (turns.turn is not null)
