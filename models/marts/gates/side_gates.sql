with sides as (

    select * from {{ ref('sides') }}

),

gate_limits as (

    select * from {{ ref('gate_limits') }}
    where subject = 'side'

),

-- Every gate's value as a double, and why it is not known where it is not.
measured as (

    select
        sides.eval_run_id,
        sides.sample_id,
        sides.rollout,
        sides.side,
        struct_extract(measures.measure, 'gate') as gate,
        struct_extract(measures.measure, 'value') as value,
        struct_extract(measures.measure, 'unknown_reason') as unknown_reason
    from sides
    cross join
        unnest([
            {
                'gate': 'run_succeeded',
                'value': case when sides.run_state is not null then cast(sides.run_state = 'succeeded' as double) end,
                'unknown_reason': 'the state of the run is not known'
            },
            {
                'gate': 'scored',
                'value': cast(sides.scored as double),
                'unknown_reason': 'it is not known whether the side was scored'
            },
            {
                'gate': 'not_looped',
                'value': case
                    when sides.looped_stored or sides.looped then 0.0
                    when sides.looped_stored is null and sides.looped is null then null
                    when sides.text_source is null or sides.text_source = 'none' then null
                    else 1.0
                end,
                'unknown_reason': case
                    when sides.text_source is null or sides.text_source = 'none' then 'the side has no text'
                    else 'neither a judge record nor a loop rule says'
                end
            },
            {
                'gate': 'score',
                'value': sides.score,
                'unknown_reason': case
                    when sides.score is null then 'no stored score between 0 and 1'
                    else 'the score is not a finite number'
                end
            },
            {
                'gate': 'dup_cmd_ratio',
                'value': case when sides.n_cmds > 0 then sides.dup_cmd_ratio end,
                'unknown_reason': case
                    when sides.n_cmds = 0 then 'no commands: the share is 0 of 0'
                    when sides.dup_cmd_ratio is null then 'the side has no text'
                    else 'the share is not a finite number'
                end
            },
            {
                'gate': 'max_cmd_run',
                'value': cast(sides.max_cmd_run as double),
                'unknown_reason': 'the side has no text'
            }
        ]) as measures (measure)

),

side_gates as (

    select
        measured.eval_run_id,
        measured.sample_id,
        measured.rollout,
        measured.side,
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

select * from side_gates
