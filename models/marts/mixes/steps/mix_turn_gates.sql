with gates as (

    select * from {{ ref('int_mix_gates') }}
    where subject = 'turn' and is_asked

),

measured as (

    select
        facts.turn_id,
        facts.side_id,
        facts.turn,
        facts.is_counted,
        gates.*,
        {{ gate_value('gates.measure', 'facts', gate_measures('turn')) }} as value
    from {{ ref('mix_turn_facts') }} as facts
    inner join gates on facts.source = gates.source

),

mix_turn_gates as (

    {{ judged_gates('measured', [
        'mix', 'source', 'turn_id', 'side_id', 'turn', 'step_order', 'is_counted', 'is_first_of_source', 'credit_mix',
        'escape_mix',
    ]) }}

)

select * from mix_turn_gates
