-- Tenths between large numbers: by rising and by falling order plain sums of them differ. With a condition, and null where
-- no row is.
with numbers as (

    select
        nth,
        case when nth % 2 = 0 then 0.1 else 1e9 + nth / 3.0 end as number
    from range(1000) as numbers (nth)

),

rising as (

    select {{ exact_sum('number') }} as total
    from (select number from numbers order by number asc limit 1000)

),

falling as (

    select {{ exact_sum('number') }} as total
    from (select number from numbers order by number desc limit 1000)

),

parts as (

    select
        {{ exact_sum('number', 'nth % 2 = 0') }} as tenths,
        {{ exact_sum('number', 'nth < 0') }} as nothing,
        {{ exact_sum('0.1 / 3') }} as thirds
    from numbers

)

select
    rising.total,
    parts.tenths,
    parts.nothing,
    parts.thirds
from rising, falling, parts
where
    rising.total is distinct from falling.total
    or rising.total is distinct from cast(500000083383.3333 as double)
    or parts.tenths is distinct from cast(50 as double)
    or parts.nothing is not null
    or parts.thirds is distinct from cast(33.33333333333333 as double)
