-- A gate that is unknown says why; a verdict that passes has a value, so that nothing unknown ever passes.
with side_gates as (

    select * from {{ ref('side_gates') }}

),

turn_gates as (

    select * from {{ ref('turn_gates') }}

),

gates as (

    select
        gate,
        value,
        verdict,
        reason
    from side_gates
    union all
    select
        gate,
        value,
        verdict,
        reason
    from turn_gates

)

select * from gates
where
    (verdict <> 'pass' and coalesce(reason, '') = '')
    or (verdict = 'pass' and (value is null or not isfinite(value)))
