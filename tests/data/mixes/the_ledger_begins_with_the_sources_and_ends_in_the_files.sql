-- Its first line counts what the sources hold, its last what the files' tables hold; neither is counted from gates.
with ledger as (

    select * from {{ ref('drop_ledger') }}

),

plan as (

    select * from {{ ref('mix_plan') }}

),

sides as (

    select * from {{ ref('sides') }}

),

mini_trajectories as (

    select * from {{ ref('stg_mini_coder__trajectories') }}

),

mini_messages as (

    select * from {{ ref('stg_mini_coder__messages') }}

),

mix_rows as (

    select * from {{ ref('mix_rows') }}

),

mix_turns as (

    select * from {{ ref('mix_turns') }}

),

duel_totals as (

    select
        count(*) as n_sides,
        coalesce(sum(n_turns), 0) as n_turns
    from sides

),

mini_totals as (

    select
        (select count(*) from mini_trajectories) as n_trajectories,
        count(*) filter (where role = 'assistant') as n_turns
    from mini_messages

),

sources as (

    select
        'candidate' as step,
        plan.mix,
        case plan.mix
            when 'credit' then duel_totals.n_sides
            when 'escape_duel' then duel_totals.n_turns
            when 'escape_mini' then mini_totals.n_turns
            when 'finish_mini' then mini_totals.n_trajectories
        end as n_rows,
        case when plan.mix in ('credit', 'escape_duel') then duel_totals.n_turns else mini_totals.n_turns end as n_turns
    from plan
    cross join duel_totals
    cross join mini_totals

),

trained as (

    select
        mix,
        count(*) as n_turns
    from mix_turns
    where train
    group by mix

),

written as (

    select
        mix,
        count(*) as n_rows
    from mix_rows
    group by mix

),

files as (

    select
        'file' as step,
        plan.mix,
        coalesce(written.n_rows, 0) as n_rows,
        coalesce(trained.n_turns, 0) as n_turns
    from plan
    left join written on plan.mix = written.mix
    left join trained on plan.mix = trained.mix

),

expected as (

    select * from sources
    union all
    select * from files

)

select
    expected.mix,
    expected.step,
    expected.n_rows,
    expected.n_turns,
    ledger.rows as ledger_rows,
    ledger.turns as ledger_turns
from expected
left join ledger on expected.mix = ledger.mix and expected.step = ledger.step
where expected.n_rows is distinct from ledger.rows or expected.n_turns is distinct from ledger.turns
