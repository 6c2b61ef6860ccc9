{#
    Every turn that a mix looks at, and what became of it: `train` or `context` in a row of the file, or `left` with the
    step and gate where it, or the row that it would have been part of, stayed behind.
#}
with duel_sides as (

    select * from {{ ref('int_mix_duel_sides') }}

),

mini_trajectories as (

    select * from {{ ref('int_mix_finish_trajectories') }}

),

all_turns as (

    select * from {{ ref('int_turns') }}

),

side_gates as (

    select * from {{ ref('side_gates') }}

),

duel_verdicts as (

    select * from {{ ref('int_mix_duel_turn_verdicts') }}

),

mini_verdicts as (

    select * from {{ ref('int_mix_mini_turn_verdicts') }}

),

row_gates as (

    select * from {{ ref('row_gates') }}

),

messages as (

    select * from {{ ref('int_mix_audited_messages') }}

),

steps as (

    select * from {{ ref('mix_steps') }}

),

duel_mixes as (

    select unnest(['credit', 'escape_duel']) as mix

),

mini_mixes as (

    select unnest(['escape_mini', 'finish_mini']) as mix

),

first_row_gates as (

    select
        mix,
        row_id,
        arg_min({ 'step_order': step_order, 'step': step, 'gate': gate, 'verdict': verdict }, step_order) as failed
    from row_gates
    where verdict <> 'pass'
    group by mix, row_id

),

-- A side that does not count has no credited turns: its gates say why.
first_side_gates as (

    select
        steps.mix,
        side_gates.eval_run_id,
        side_gates.sample_id,
        side_gates.rollout,
        side_gates.side,
        arg_min(
            {
                'step_order': steps.step_order,
                'step': steps.step,
                'gate': steps.gate,
                'verdict': side_gates.verdict
            },
            steps.step_order
        ) as failed
    from side_gates
    inner join steps on side_gates.gate = steps.gate and steps.mix = 'escape_duel' and steps.unit = 'side'
    where side_gates.verdict <> 'pass' and side_gates.escape_mix
    group by steps.mix, side_gates.eval_run_id, side_gates.sample_id, side_gates.rollout, side_gates.side

),

duel_turns as (

    select
        duel_mixes.mix,
        duel_sides.side_id || '/' || cast(all_turns.turn as varchar) as turn_id,
        case duel_mixes.mix
            when 'credit' then 'credit/' || duel_sides.side_id
            else 'escape_duel/' || duel_sides.side_id || '/' || cast(all_turns.turn as varchar)
        end as row_id,
        all_turns.artifact_id,
        all_turns.line,
        all_turns.side,
        all_turns.turn,
        all_turns.message_index,
        case
            when duel_mixes.mix = 'escape_duel'
                then coalesce(
                    first_side_gates.failed,
                    case
                        when duel_verdicts.gate is not null
                            then {
                                'step_order': duel_verdicts.step_order,
                                'step': 'turn_gates',
                                'gate': duel_verdicts.gate,
                                'verdict': duel_verdicts.verdict
                            }
                    end
                )
        end as failed_before_row,
        duel_verdicts.gate as turn_gate,
        duel_verdicts.verdict as turn_verdict
    from duel_sides
    inner join all_turns
        on
            duel_sides.artifact_id = all_turns.artifact_id
            and duel_sides.line = all_turns.line
            and duel_sides.side = all_turns.side
    cross join duel_mixes
    left join first_side_gates
        on
            duel_mixes.mix = first_side_gates.mix
            and duel_sides.eval_run_id = first_side_gates.eval_run_id
            and duel_sides.sample_id = first_side_gates.sample_id
            and duel_sides.rollout = first_side_gates.rollout
            and duel_sides.side = first_side_gates.side
    left join duel_verdicts
        on
            duel_mixes.mix = duel_verdicts.mix
            and duel_sides.eval_run_id = duel_verdicts.eval_run_id
            and duel_sides.sample_id = duel_verdicts.sample_id
            and duel_sides.rollout = duel_verdicts.rollout
            and duel_sides.side = duel_verdicts.side
            and all_turns.turn = duel_verdicts.turn

),

mini_turns as (

    select
        mini_verdicts.mix,
        mini_trajectories.trajectory_name || '/' || cast(mini_verdicts.turn as varchar) as turn_id,
        case mini_verdicts.mix
            when 'finish_mini' then 'finish_mini/' || mini_trajectories.trajectory_name
            else 'escape_mini/' || mini_trajectories.trajectory_name || '/' || cast(mini_verdicts.turn as varchar)
        end as row_id,
        mini_verdicts.artifact_id,
        mini_verdicts.line,
        cast(null as varchar) as side,
        mini_verdicts.turn,
        mini_verdicts.message_index,
        case
            when mini_verdicts.mix = 'escape_mini' and mini_verdicts.gate is not null
                then {
                    'step_order': mini_verdicts.step_order,
                    'step': 'turn_gates',
                    'gate': mini_verdicts.gate,
                    'verdict': mini_verdicts.verdict
                }
        end as failed_before_row,
        mini_verdicts.gate as turn_gate,
        mini_verdicts.verdict as turn_verdict
    from mini_verdicts
    inner join mini_mixes on mini_verdicts.mix = mini_mixes.mix
    inner join mini_trajectories
        on
            mini_verdicts.artifact_id = mini_trajectories.artifact_id
            and mini_verdicts.line = mini_trajectories.line

),

candidates as (

    select * from duel_turns
    union all
    select * from mini_turns

),

-- In a row that stays, a turn is what its message is; what the row does not reach is cut off with its gate.
judged as (

    select
        candidates.*,
        coalesce(candidates.failed_before_row, first_row_gates.failed) as failed,
        messages.train,
        messages.demotion_reason,
        messages.turn is not null as is_in_row
    from candidates
    left join first_row_gates
        on candidates.mix = first_row_gates.mix and candidates.row_id = first_row_gates.row_id
    left join messages
        on
            candidates.mix = messages.mix
            and candidates.row_id = messages.row_id
            and candidates.turn = messages.turn

),

decided as (

    select
        mix,
        turn_id,
        row_id,
        artifact_id,
        line,
        side,
        turn,
        message_index,
        case
            when failed is not null then 'left'
            when is_in_row and train then 'train'
            when is_in_row then 'context'
            else 'left'
        end as outcome,
        case
            when failed is not null then struct_extract(failed, 'gate')
            when is_in_row then demotion_reason
            else turn_gate
        end as gate,
        case
            when failed is not null then struct_extract(failed, 'verdict')
            when is_in_row and train then 'pass'
            when is_in_row and demotion_reason in ('no_duplicate_target', 'span_proven') then 'fail'
            else turn_verdict
        end as verdict
    from judged

),

int_mix_turn_outcomes as (

    select
        decided.mix,
        decided.turn_id,
        decided.row_id,
        decided.artifact_id,
        decided.line,
        decided.side,
        decided.turn,
        decided.message_index,
        decided.outcome,
        steps.step_order,
        steps.step,
        decided.gate,
        decided.verdict
    from decided
    left join steps on decided.mix = steps.mix and decided.gate = steps.gate

)

select * from int_mix_turn_outcomes
