with turns as (

    select * from {{ ref('int_turns') }}

),

trajectories as (

    select * from {{ ref('stg_mini_coder__trajectories') }}

),

gate_limits as (

    select * from {{ ref('gate_limits') }}

),

steps as (

    select * from {{ ref('mix_steps') }}
    where unit = 'turn' and mix in ('escape_mini', 'finish_mini')

),

plan as (

    select * from {{ ref('mix_plan') }}

),

-- A limit stands in one place: the window in the plan, what duels share in the gates, the rest in the step itself.
limits as (

    select
        steps.mix,
        steps.step_order,
        steps.gate,
        case
            when steps.gate in ('after_cutoff', 'within_window') then steps.comparison
            else coalesce(gate_limits.comparison, steps.comparison)
        end as comparison,
        case steps.gate
            when 'after_cutoff' then plan.window_first_turn
            when 'within_window' then plan.window_last_turn
            else coalesce(gate_limits.limit_value, steps.limit_value)
        end as limit_value
    from steps
    inner join plan on steps.mix = plan.mix
    left join gate_limits on steps.gate = gate_limits.gate

),

mini_turns as (

    select
        turns.artifact_id,
        turns.line,
        turns.turn,
        turns.message_index,
        turns.n_bash_blocks,
        turns.think_state,
        turns.is_repeat,
        turns.leaves_repeats and turns.command_key is not null as breaks_out
    from turns
    inner join trajectories
        on turns.artifact_id = trajectories.artifact_id and turns.line = trajectories.line

),

measured as (

    select
        mini_turns.artifact_id,
        mini_turns.line,
        mini_turns.turn,
        limits.mix,
        limits.step_order,
        limits.gate,
        limits.comparison,
        limits.limit_value,
        case limits.gate
            when 'breaks_out' then cast(mini_turns.breaks_out as double)
            when 'after_cutoff' then cast(mini_turns.turn as double)
            when 'within_window' then cast(mini_turns.turn as double)
            when 'one_bash_block' then cast(mini_turns.n_bash_blocks as double)
            when 'think_closed' then cast(mini_turns.think_state <> 'unclosed' as double)
            when 'not_repeat' then cast(not mini_turns.is_repeat as double)
        end as value
    from mini_turns
    cross join limits
    -- A window without an end asks nothing; a gate without a name below is decided where its row is known.
    where limits.limit_value is not null and limits.gate not in ('no_duplicate_target', 'span_proven')

),

judged as (

    select
        *,
        {{ gate_verdict('value', 'comparison', 'limit_value') }} as verdict
    from measured

),

failed as (

    select
        mix,
        artifact_id,
        line,
        turn,
        arg_min({ 'step_order': step_order, 'gate': gate, 'value': value, 'verdict': verdict }, step_order)
            as first_failed
    from judged
    where verdict <> 'pass'
    group by mix, artifact_id, line, turn

),

mixes as (

    select unnest(['escape_mini', 'finish_mini']) as mix

),

int_mix_mini_turn_verdicts as (

    select
        mixes.mix,
        mini_turns.artifact_id,
        mini_turns.line,
        mini_turns.turn,
        struct_extract(failed.first_failed, 'step_order') as step_order,
        struct_extract(failed.first_failed, 'gate') as gate,
        struct_extract(failed.first_failed, 'value') as value,
        coalesce(struct_extract(failed.first_failed, 'verdict'), 'pass') as verdict,
        mini_turns.message_index,
        mini_turns.is_repeat
    from mini_turns
    cross join mixes
    left join failed
        on
            mixes.mix = failed.mix
            and mini_turns.artifact_id = failed.artifact_id
            and mini_turns.line = failed.line
            and mini_turns.turn = failed.turn

)

select * from int_mix_mini_turn_verdicts
