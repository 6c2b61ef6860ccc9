with pair_rows as (

    select * from {{ ref('pair_rows') }}

),

lines as (

    select
        0 as position,
        'candidate' as step,
        'looked at' as reason,
        count(*) as pairs
    from pair_rows
    union all
    select
        1 as position,
        'left' as step,
        drop_reason as reason,
        count(*) as pairs
    from pair_rows
    where not is_exported
    group by drop_reason
    union all
    select
        2 as position,
        'file' as step,
        'in the file' as reason,
        count(*) as pairs
    from pair_rows
    where is_exported

),

pair_ledger as (

    select
        step,
        reason,
        pairs
    from lines

)

select * from pair_ledger
order by step, reason
