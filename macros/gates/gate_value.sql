{#
    The value that a gate asks for: the column of `facts` that its measure names, as a double, 1 for yes. Null where the
    column is null or no column has that name.

    Usage: {{ gate_value('gates.measure', 'facts', ['score', 'scored']) }} as value
#}
{% macro gate_value(measure, facts, measures) -%}
    case {{ measure }}
            {%- for name in measures %}
            when '{{ name }}' then cast({{ facts }}.{{ name }} as double)
            {%- endfor %}
        end
{%- endmacro %}
