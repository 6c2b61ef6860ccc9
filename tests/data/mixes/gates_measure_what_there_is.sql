-- A measure that no model has is null and its gate unknown everywhere: a slip of the pen, said by its name.
with gates as (

    select * from {{ ref('gates') }}

),

measures as (

    {% for subject in ['side', 'turn', 'message', 'row', 'rank', 'audit', 'checkpoint'] %}
    select
        '{{ subject }}' as subject,
        unnest([
            {%- for measure in gate_measures(subject) %}
            '{{ measure }}'{{ ',' if not loop.last }}
            {%- endfor %}
        ]) as measure
    {{ 'union all' if not loop.last }}
    {% endfor %}

)

select
    gates.gate,
    gates.subject,
    gates.measure
from gates
anti join measures on gates.subject = measures.subject and gates.measure = measures.measure
