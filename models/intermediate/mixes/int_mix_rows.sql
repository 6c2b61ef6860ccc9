{#
    A row of a mix that its turns alone do not decide: a side, a trajectory, or a turn that passed its own gates. What
    fails a turn gate of an escape mix never becomes one; the ledger counts it as a row and a turn that left there.
#}
with duel_sides as (

    select * from {{ ref('int_mix_duel_sides') }}

),

duel_verdicts as (

    select * from {{ ref('int_mix_duel_turn_verdicts') }}

),

mini_verdicts as (

    select * from {{ ref('int_mix_mini_turn_verdicts') }}

),

finish_trajectories as (

    select * from {{ ref('int_mix_finish_trajectories') }}

),

train_turns as (

    select
        eval_run_id,
        sample_id,
        rollout,
        side,
        count(*) as n_train_turns
    from duel_verdicts
    where mix = 'credit' and verdict = 'pass'
    group by eval_run_id, sample_id, rollout, side

),

credit_rows as (

    select
        'credit' as mix,
        'credit/' || duel_sides.side_id as row_id,
        'sn97' as text_source,
        duel_sides.artifact_id,
        duel_sides.line,
        duel_sides.eval_run_id,
        duel_sides.sample_id,
        duel_sides.rollout,
        duel_sides.side,
        cast(null as bigint) as turn,
        duel_sides.instance_id,
        coalesce(train_turns.n_train_turns, 0) as n_train_turns,
        cast(null as bigint) as n_tail_turns,
        -- The whole side, to its last message.
        cast(null as bigint) as last_message_index
    from duel_sides
    left join train_turns
        on
            duel_sides.eval_run_id = train_turns.eval_run_id
            and duel_sides.sample_id = train_turns.sample_id
            and duel_sides.rollout = train_turns.rollout
            and duel_sides.side = train_turns.side

),

escape_duel_rows as (

    select
        'escape_duel' as mix,
        'escape_duel/' || duel_sides.side_id || '/' || cast(duel_verdicts.turn as varchar) as row_id,
        'sn97' as text_source,
        duel_sides.artifact_id,
        duel_sides.line,
        duel_sides.eval_run_id,
        duel_sides.sample_id,
        duel_sides.rollout,
        duel_sides.side,
        duel_verdicts.turn,
        duel_sides.instance_id,
        1 as n_train_turns,
        cast(null as bigint) as n_tail_turns,
        duel_verdicts.message_index as last_message_index
    from duel_verdicts
    inner join duel_sides
        on
            duel_verdicts.eval_run_id = duel_sides.eval_run_id
            and duel_verdicts.sample_id = duel_sides.sample_id
            and duel_verdicts.rollout = duel_sides.rollout
            and duel_verdicts.side = duel_sides.side
    where duel_verdicts.mix = 'escape_duel' and duel_verdicts.verdict = 'pass'

),

escape_mini_rows as (

    select
        'escape_mini' as mix,
        'escape_mini/' || finish_trajectories.trajectory_name || '/' || cast(mini_verdicts.turn as varchar) as row_id,
        'mini_coder' as text_source,
        mini_verdicts.artifact_id,
        mini_verdicts.line,
        cast(null as varchar) as eval_run_id,
        cast(null as varchar) as sample_id,
        cast(null as bigint) as rollout,
        cast(null as varchar) as side,
        mini_verdicts.turn,
        finish_trajectories.instance_id,
        1 as n_train_turns,
        cast(null as bigint) as n_tail_turns,
        mini_verdicts.message_index as last_message_index
    from mini_verdicts
    inner join finish_trajectories
        on
            mini_verdicts.artifact_id = finish_trajectories.artifact_id
            and mini_verdicts.line = finish_trajectories.line
    where mini_verdicts.mix = 'escape_mini' and mini_verdicts.verdict = 'pass'

),

finish_mini_rows as (

    select
        'finish_mini' as mix,
        'finish_mini/' || trajectory_name as row_id,
        'mini_coder' as text_source,
        artifact_id,
        line,
        cast(null as varchar) as eval_run_id,
        cast(null as varchar) as sample_id,
        cast(null as bigint) as rollout,
        cast(null as varchar) as side,
        cast(null as bigint) as turn,
        instance_id,
        n_train_turns,
        n_tail_turns,
        last_message_index
    from finish_trajectories

),

int_mix_rows as (

    select * from credit_rows
    union all
    select * from escape_duel_rows
    union all
    select * from escape_mini_rows
    union all
    select * from finish_mini_rows

)

select * from int_mix_rows
