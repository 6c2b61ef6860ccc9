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

trajectories as (

    select * from {{ ref('stg_trajectories__trajectories') }}

),

messages as (

    select * from {{ ref('stg_trajectories__messages') }}

),

mix_rows as (

    select * from {{ ref('mix_rows') }}

),

mix_turns as (

    select * from {{ ref('mix_turns') }}

),

totals as (

    select
        'sn97' as source,
        count(*) as n_sides,
        coalesce(sum(n_turns), 0) as n_turns
    from sides
    union all
    select
        sources.source,
        (
            select count(*) from trajectories
            where trajectories.source = sources.source
        ) as n_sides,
        (
            select count(*) from messages
            where messages.source = sources.source and messages.role = 'assistant'
        ) as n_turns
    from (values ('mini_coder'), ('trajectories')) as sources (source)

),

sources as (

    select
        'candidate' as step,
        plan.mix,
        case plan.unit when 'side' then totals.n_sides else totals.n_turns end as n_rows,
        totals.n_turns
    from plan
    inner join totals on plan.source = totals.source

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
