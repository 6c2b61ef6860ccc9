with candidate_gates as (

    select * from {{ ref('int_mix_row_gates') }}

),

candidate_rows as (

    select * from {{ ref('int_mix_candidate_rows') }}

),

mask_audit as (

    select * from {{ ref('mask_audit') }}

),

steps as (

    select * from {{ ref('mix_steps') }}

),

measured as (

    select
        candidate_rows.mix,
        candidate_rows.row_id,
        steps.step_order,
        steps.step,
        steps.gate,
        case mask_audit.verdict when 'pass' then 1.0 when 'fail' then 0.0 end as value,
        steps.comparison,
        steps.limit_value,
        coalesce(mask_audit.reason, 'it was not audited') as reason
    from candidate_rows
    inner join steps on candidate_rows.mix = steps.mix and steps.gate = 'mask_audit'
    left join mask_audit on candidate_rows.mix = mask_audit.mix and candidate_rows.row_id = mask_audit.row_id

),

audit_gates as (

    select
        mix,
        row_id,
        step_order,
        step,
        gate,
        value,
        comparison,
        limit_value,
        {{ gate_verdict('value', 'comparison', 'limit_value') }} as verdict,
        case when {{ gate_verdict('value', 'comparison', 'limit_value') }} <> 'pass' then reason end as reason
    from measured

),

gates as (

    select * from candidate_gates
    union all
    select * from audit_gates

),

row_gates as (

    select
        mix,
        row_id,
        step_order,
        step,
        gate,
        value,
        comparison,
        limit_value as "limit",
        verdict,
        reason
    from gates

)

select * from row_gates
