{#
    A row of a mix that its turns alone do not decide: a side, or a turn that passed its own gates. What fails a turn gate
    of a mix of turns never becomes a row; the ledger counts it as a row and a turn that left there.
#}
with sides as (

    select * from {{ ref('mix_sides') }}

),

gated_turns as (

    select * from {{ ref('mix_gated_turns') }}

),

windows as (

    select
        mix,
        side_id,
        count(*) filter (where verdict = 'pass') as n_train_turns,
        count(*) filter (where is_in_window) as n_window_turns,
        count(*) filter (where is_in_window and not is_repeat) as n_tail_turns,
        max(message_index) filter (where is_before_window_ends) as last_message_index
    from gated_turns
    where unit = 'side'
    group by mix, side_id

),

-- A row is the whole side where the plan gives its mix no last turn.
whole_sides as (

    select
        plan.mix,
        sides.side_id,
        cast(null as varchar) as turn_id,
        cast(null as bigint) as turn,
        coalesce(windows.n_train_turns, 0) as n_train_turns,
        coalesce(windows.n_window_turns, 0) as n_window_turns,
        coalesce(windows.n_tail_turns, 0) as n_tail_turns,
        windows.last_message_index
    from {{ ref('mix_plan') }} as plan
    inner join sides on plan.source = sides.source
    left join windows on plan.mix = windows.mix and sides.side_id = windows.side_id
    where plan.unit = 'side'

),

single_turns as (

    select
        mix,
        side_id,
        turn_id,
        turn,
        1 as n_train_turns,
        cast(is_in_window as bigint) as n_window_turns,
        cast(is_in_window and not is_repeat as bigint) as n_tail_turns,
        message_index as last_message_index
    from gated_turns
    where unit = 'turn' and verdict = 'pass'

),

rows_of_mixes as (

    select * from whole_sides
    union all
    select * from single_turns

),

mix_candidates as (

    select
        rows_of_mixes.mix,
        rows_of_mixes.mix || '/' || coalesce(rows_of_mixes.turn_id, rows_of_mixes.side_id) as row_id,
        rows_of_mixes.side_id,
        rows_of_mixes.turn_id,
        sides.source as text_source,
        sides.artifact_id,
        sides.line,
        sides.text_side,
        sides.eval_run_id,
        sides.sample_id,
        sides.rollout,
        rows_of_mixes.turn,
        sides.instance_id,
        sides.has_messages,
        rows_of_mixes.n_train_turns,
        rows_of_mixes.n_window_turns,
        rows_of_mixes.n_tail_turns,
        rows_of_mixes.last_message_index
    from rows_of_mixes
    inner join sides on rows_of_mixes.side_id = sides.side_id

)

select * from mix_candidates
