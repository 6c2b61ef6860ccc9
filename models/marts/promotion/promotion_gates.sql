with promotion_gate as (

    select * from {{ ref('promotion_gate') }}

),

gates as (

    select * from {{ ref('gates') }}

),

promotion_gates as (

    select
        promotion_gate.gate,
        promotion_gate.purpose,
        promotion_gate.context,
        gates.measure,
        gates.comparison,
        gates.limit_value,
        case gates.comparison when 'at_least' then gates.limit_value end as at_least,
        case gates.comparison when 'at_most' then gates.limit_value end as at_most,
        promotion_gate.min_n,
        gates.asks,
        gates.passes,
        gates.fails,
        gates.unknown_reason,
        gates.reason
    from promotion_gate
    inner join gates on promotion_gate.gate = gates.gate

)

select * from promotion_gates
order by gate
