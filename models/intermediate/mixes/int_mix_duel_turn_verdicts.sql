with turns as (

    select * from {{ ref('turns') }}

),

turn_gates as (

    select * from {{ ref('turn_gates') }}

),

steps as (

    select * from {{ ref('mix_steps') }}
    where unit = 'turn'

),

failed as (

    select
        steps.mix,
        turn_gates.eval_run_id,
        turn_gates.sample_id,
        turn_gates.rollout,
        turn_gates.side,
        turn_gates.turn,
        arg_min(
            {
                'step_order': steps.step_order,
                'gate': turn_gates.gate,
                'value': turn_gates.value,
                'verdict': turn_gates.verdict
            },
            steps.step_order
        ) as first_failed
    from turn_gates
    inner join steps on turn_gates.gate = steps.gate
    where
        turn_gates.verdict <> 'pass'
        and (
            (steps.mix = 'credit' and turn_gates.credit_mix)
            or (steps.mix = 'escape_duel' and turn_gates.escape_mix)
        )
    group by
        steps.mix, turn_gates.eval_run_id, turn_gates.sample_id, turn_gates.rollout, turn_gates.side, turn_gates.turn

),

mixes as (

    select unnest(['credit', 'escape_duel']) as mix

),

int_mix_duel_turn_verdicts as (

    select
        mixes.mix,
        turns.eval_run_id,
        turns.sample_id,
        turns.rollout,
        turns.side,
        turns.turn,
        struct_extract(failed.first_failed, 'step_order') as step_order,
        struct_extract(failed.first_failed, 'gate') as gate,
        struct_extract(failed.first_failed, 'value') as value,
        coalesce(struct_extract(failed.first_failed, 'verdict'), 'pass') as verdict,
        turns.message_index,
        turns.artifact_id,
        turns.line
    from turns
    cross join mixes
    left join failed
        on
            mixes.mix = failed.mix
            and turns.eval_run_id = failed.eval_run_id
            and turns.sample_id = failed.sample_id
            and turns.rollout = failed.rollout
            and turns.side = failed.side
            and turns.turn = failed.turn

)

select * from int_mix_duel_turn_verdicts
