with gates as (

    select * from {{ ref('int_mix_gates') }}
    where subject = 'side' and is_asked and is_first_of_source

),

measured as (

    select
        sides.side_id,
        gates.*,
        {{ gate_value('gates.measure', 'sides', gate_measures('side')) }} as value,
        case gates.measure
            when 'not_looped' then sides.loop_unknown_because
            when 'dup_cmd_ratio' then sides.duplicates_unknown_because
        end as because
    from {{ ref('mix_sides') }} as sides
    inner join gates on sides.source = gates.source

),

mix_side_gates as (

    {{ judged_gates('measured', ['side_id', 'source', 'credit_mix', 'escape_mix'], 'because') }}

)

select * from mix_side_gates
