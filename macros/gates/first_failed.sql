{#
    The first gate of a group that does not pass, in the order of `step_order`, as a struct of these columns; null where
    every gate passes. An aggregate; ask it of rows that have `step_order` and `verdict`.

    Usage: {{ first_failed(['step_order', 'gate', 'value', 'verdict']) }} as failed
#}
{% macro first_failed(columns) -%}
    arg_min(
            {
                {%- for column in columns %} '{{ column }}': {{ column }}{{ ',' if not loop.last }}{% endfor %} },
            step_order
        ) filter (where verdict <> 'pass')
{%- endmacro %}
