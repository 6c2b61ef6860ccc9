-- Tenths between large numbers, which plain sums of rising and of falling order add up differently; with a condition,
-- and null where no row is.
with numbers as (

    select
        range as nth,
        case when range % 2 = 0 then 0.1 else 1e9 + range / 3.0 end as number
    from range(1000)

),

rising as (

    select number from numbers
    order by number asc
    limit 1000

),

falling as (

    select number from numbers
    order by number desc
    limit 1000

),

sums as (

    select
        (select {{ exact_sum('number') }} from rising) as rising,
        (select {{ exact_sum('number') }} from falling) as falling,
        {{ exact_sum('number', 'nth % 2 = 0') }} as tenths,
        {{ exact_sum('number', 'nth < 0') }} as nothing,
        {{ exact_sum('0.1 / 3') }} as thirds
    from numbers

)

select
    rising,
    falling,
    tenths,
    nothing,
    thirds
from sums
where
    rising is distinct from falling
    or rising is distinct from cast(500000083383.3333 as double)
    or tenths is distinct from cast(50 as double)
    or nothing is not null
    or thirds is distinct from cast(33.33333333333333 as double)
