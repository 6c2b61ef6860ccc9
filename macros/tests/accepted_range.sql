{#
    Fails for every value outside [min_value, max_value], limits included; either limit may be left out. Null passes;
    nan fails where there is a max_value, since DuckDB orders it after every number (see `is_finite`).

    Usage (on a column): accepted_range: {arguments: {min_value: 0, max_value: 1}}
#}
{% test accepted_range(model, column_name, min_value=none, max_value=none) %}

    {%- if min_value is none and max_value is none %}
        {{ exceptions.raise_compiler_error("accepted_range on " ~ column_name ~ " needs min_value, max_value or both") }}
    {%- endif %}

    select {{ column_name }}
    from {{ model }}
    where
        {%- if min_value is not none %}
        {{ column_name }} < {{ min_value }}
        {%- endif %}
        {%- if max_value is not none %}
        {{ 'or ' if min_value is not none }}{{ column_name }} > {{ max_value }}
        {%- endif %}

{% endtest %}
