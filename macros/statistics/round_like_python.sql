{#
    A double rounded to `digits` decimals as Python's `round` does it: on the exact binary value, half to even.

    DuckDB's own `round` scales first and rounds half away from zero, so 0.0078125 becomes 0.007813 instead of 0.007812.

    Usage: {{ round_like_python('yes_rate', 6) }}
#}
{% macro round_like_python(number, digits) -%}
    cast(format('{:.{{ digits }}f}', {{ number }}) as double)
{%- endmacro %}
