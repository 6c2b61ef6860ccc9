with before_audit as (

    select * from {{ ref('mix_row_gates') }}

),

candidate_rows as (

    select * from {{ ref('mix_candidate_rows') }}

),

mask_audit as (

    select * from {{ ref('mask_audit') }}

),

gates as (

    select * from {{ ref('int_mix_gates') }}
    where subject = 'audit' and is_asked

),

measured as (

    select
        candidate_rows.row_id,
        gates.* replace (coalesce(mask_audit.reason, gates.reason) as reason),
        case mask_audit.verdict when 'pass' then 1.0 when 'fail' then 0.0 end as value,
        mask_audit.reason as because
    from candidate_rows
    inner join gates on candidate_rows.mix = gates.mix
    left join mask_audit on candidate_rows.mix = mask_audit.mix and candidate_rows.row_id = mask_audit.row_id

),

of_audit as (

    {{ judged_gates('measured', ['mix', 'row_id', 'step_order', 'step'], 'because') }}

),

judged as (

    select * from before_audit
    union all
    select * from of_audit

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
        reason,
        statement
    from judged

)

select * from row_gates
