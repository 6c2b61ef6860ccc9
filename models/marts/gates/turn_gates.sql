with turns as (

    select * from {{ ref('turns') }}

),

gate_limits as (

    select * from {{ ref('gate_limits') }}
    where subject = 'turn'

),

measured as (

    select
        turns.eval_run_id,
        turns.sample_id,
        turns.rollout,
        turns.side,
        turns.turn,
        struct_extract(measures.measure, 'gate') as gate,
        struct_extract(measures.measure, 'value') as value,
        struct_extract(measures.measure, 'unknown_reason') as unknown_reason
    from turns
    cross join
        unnest([
            {
                'gate': 'one_bash_block',
                'value': cast(turns.n_bash_blocks as double),
                'unknown_reason': 'the blocks were not counted'
            },
            {
                'gate': 'think_closed',
                'value': cast(turns.think_state <> 'unclosed' as double),
                'unknown_reason': 'the think tags were not read'
            },
            {
                'gate': 'not_repeat',
                'value': cast(not turns.is_repeat as double),
                'unknown_reason': 'the commands before it are not known'
            },
            {
                'gate': 'not_sentinel',
                'value': cast(not (turns.is_truncated or turns.is_abandoned) as double),
                'unknown_reason': 'the text was not searched for notices'
            },
            {
                'gate': 'earning',
                'value': turns.credit_split,
                'unknown_reason': 'the credit is not a finite number'
            },
            {
                'gate': 'is_escape',
                'value': cast(turns.is_escape as double),
                'unknown_reason': 'the turns before it are not known'
            }
        ]) as measures (measure)

),

turn_gates as (

    select
        measured.eval_run_id,
        measured.sample_id,
        measured.rollout,
        measured.side,
        measured.turn,
        gate_limits.gate,
        measured.value,
        gate_limits.comparison,
        gate_limits.limit_value as "limit",
        {{ gate_verdict('measured.value', 'gate_limits.comparison', 'gate_limits.limit_value') }} as verdict,
        case {{ gate_verdict('measured.value', 'gate_limits.comparison', 'gate_limits.limit_value') }}
            when 'unknown' then coalesce(measured.unknown_reason, 'nothing measures this gate')
            when 'fail' then gate_limits.reason
        end as reason,
        gate_limits.credit_mix,
        gate_limits.escape_mix
    from measured
    inner join gate_limits on measured.gate = gate_limits.gate

)

select * from turn_gates
