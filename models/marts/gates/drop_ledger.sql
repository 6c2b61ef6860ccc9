{# Rows of a mix of turns are its turns; those of the others are sides and trajectories, with or without turns. #}
with turn_outcomes as (

    select * from {{ ref('mix_turn_outcomes') }}

),

row_outcomes as (

    select * from {{ ref('mix_row_outcomes') }}

),

gates as (

    select * from {{ ref('int_mix_gates') }}

),

plan as (

    select * from {{ ref('mix_plan') }}

),

rows_left as (

    select
        row_outcomes.mix,
        row_outcomes.outcome,
        struct_extract(row_outcomes.failed, 'gate') as gate,
        struct_extract(row_outcomes.failed, 'verdict') as verdict
    from row_outcomes
    inner join plan on row_outcomes.mix = plan.mix
    where plan.unit = 'side'
    union all
    select
        mix,
        case outcome when 'train' then 'file' else 'left' end as outcome,
        gate,
        verdict
    from turn_outcomes
    where unit = 'turn'

),

counted as (

    select
        mix,
        outcome,
        gate,
        verdict,
        count(*) as n_rows,
        0 as n_turns
    from rows_left
    group by mix, outcome, gate, verdict
    union all
    select
        mix,
        case outcome when 'train' then 'file' else outcome end as outcome,
        gate,
        verdict,
        0 as n_rows,
        count(*) as n_turns
    from turn_outcomes
    group by mix, outcome, gate, verdict

),

ends as (

    select
        plan.mix,
        marks.step_order,
        marks.step,
        marks.reason,
        coalesce(sum(counted.n_rows), 0) as n_rows,
        coalesce(sum(counted.n_turns), 0) as n_turns,
        0 as n_context
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
        gates.mix,
        gates.step_order,
        gates.step,
        case verdicts.verdict when 'fail' then gates.gate else gates.gate || ' is unknown' end as reason,
        coalesce(sum(counted.n_rows), 0) as n_rows,
        coalesce(sum(counted.n_turns), 0) as n_turns,
        coalesce(sum(counted.n_turns) filter (where counted.outcome = 'context'), 0) as n_context
    from gates
    cross join (values ('fail'), ('unknown')) as verdicts (verdict)
    left join counted
        on
            gates.mix = counted.mix
            and gates.gate = counted.gate
            and verdicts.verdict = counted.verdict
            and counted.outcome <> 'file'
    group by gates.mix, gates.step_order, gates.step, gates.gate, verdicts.verdict
    having verdicts.verdict = 'fail' or count(counted.gate) > 0

),

lines as (

    select * from ends
    union all
    select * from losses

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
