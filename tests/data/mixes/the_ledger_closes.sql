-- Every row and turn that a mix looked at is in the file or left at one gate.
with ledger as (

    select * from {{ ref('drop_ledger') }}

)

select
    mix,
    sum(rows) filter (where step = 'candidate') as rows_looked_at,
    sum(rows) filter (where step <> 'candidate') as rows_accounted_for,
    sum(turns) filter (where step = 'candidate') as turns_looked_at,
    sum(turns) filter (where step <> 'candidate') as turns_accounted_for
from ledger
group by mix
having
    sum(case step when 'candidate' then rows else -rows end) <> 0
    or sum(case step when 'candidate' then turns else -turns end) <> 0
