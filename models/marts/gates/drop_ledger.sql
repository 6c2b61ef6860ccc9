{# Rows of an escape mix are its turns; those of the others are sides and trajectories, with or without turns. #}
with outcomes as (

    select * from {{ ref('int_mix_turn_outcomes') }}

),

whole_rows as (

    select * from {{ ref('int_mix_rows') }}
    where mix in ('credit', 'finish_mini')

),

row_gates as (

    select * from {{ ref('row_gates') }}

),

steps as (

    select * from {{ ref('mix_steps') }}

),

plan as (

    select * from {{ ref('mix_plan') }}

),

first_row_gates as (

    select
        mix,
        row_id,
        arg_min({ 'gate': gate, 'verdict': verdict }, step_order) as failed
    from row_gates
    where verdict <> 'pass'
    group by mix, row_id

),

row_outcomes as (

    select
        whole_rows.mix,
        case when first_row_gates.row_id is null then 'file' else 'left' end as outcome,
        struct_extract(first_row_gates.failed, 'gate') as gate,
        struct_extract(first_row_gates.failed, 'verdict') as verdict
    from whole_rows
    left join first_row_gates on whole_rows.mix = first_row_gates.mix and whole_rows.row_id = first_row_gates.row_id
    union all
    select
        mix,
        case outcome when 'train' then 'file' else 'left' end as outcome,
        gate,
        verdict
    from outcomes
    where mix in ('escape_duel', 'escape_mini')

),

counted as (

    select
        mix,
        outcome,
        gate,
        verdict,
        count(*) as n_rows,
        0 as n_turns
    from row_outcomes
    group by mix, outcome, gate, verdict
    union all
    select
        mix,
        case outcome when 'train' then 'file' else outcome end as outcome,
        gate,
        verdict,
        0 as n_rows,
        count(*) as n_turns
    from outcomes
    group by mix, outcome, gate, verdict

),

ends as (

    select
        plan.mix,
        marks.step_order,
        marks.step,
        marks.reason,
        coalesce(sum(counted.n_rows), 0) as n_rows,
        coalesce(sum(counted.n_turns), 0) as n_turns
    from plan
    cross join
        (
            values
            (0, 'candidate', 'looked at'),
            (1000, 'file', 'in the file')
        ) as marks (step_order, step, reason)
    left join counted
        on plan.mix = counted.mix and (marks.step = 'candidate' or counted.outcome = 'file')
    group by plan.mix, marks.step_order, marks.step, marks.reason

),

-- Every gate has its line, be it zero; what is unknown has one where it occurs.
losses as (

    select
        steps.mix,
        steps.step_order,
        steps.step,
        case verdicts.verdict when 'fail' then steps.gate else steps.gate || ' is unknown' end as reason,
        verdicts.verdict,
        coalesce(sum(counted.n_rows), 0) as n_rows,
        coalesce(sum(counted.n_turns), 0) as n_turns,
        coalesce(sum(counted.n_turns) filter (where counted.outcome = 'context'), 0) as n_context
    from steps
    cross join (values ('fail'), ('unknown')) as verdicts (verdict)
    left join counted
        on
            steps.mix = counted.mix
            and steps.gate = counted.gate
            and verdicts.verdict = counted.verdict
            and counted.outcome <> 'file'
    group by steps.mix, steps.step_order, steps.step, steps.gate, verdicts.verdict

),

lines as (

    select
        mix,
        step_order,
        step,
        reason,
        n_rows,
        n_turns,
        0 as n_context
    from ends
    union all
    select
        mix,
        step_order,
        step,
        reason,
        n_rows,
        n_turns,
        n_context
    from losses
    where verdict = 'fail' or n_rows + n_turns > 0

),

drop_ledger as (

    select
        lines.mix,
        lines.step,
        lines.reason,
        cast(lines.n_rows as bigint) as rows,
        cast(lines.n_turns as bigint) as turns,
        cast(lines.n_context as bigint) as turns_kept_as_context,
        cast(lines.step_order as bigint) as step_order,
        plan.position as mix_position
    from lines
    inner join plan on lines.mix = plan.mix

)

select * from drop_ledger
order by mix_position, step_order, reason
