{#
    A double rounded as the writers of logs round: to the nearest decimal of its binary value, which is what Python's
    `round` does; DuckDB's own rounds the scaled value, which differs at ties.

    Usage: {{ rounded_as_python('compliance', 3) }}
#}
{% macro rounded_as_python(value, digits) -%}
    cast(format('{:.{{ digits }}f}', {{ value }}) as double)
{%- endmacro %}
