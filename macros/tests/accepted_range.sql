{#
    Fails for every row with a value outside [min_value, max_value] in one of the columns, limits included; either
    limit may be left out. Null passes; nan fails where there is a max_value, since DuckDB orders it after every number
    (see `is_finite`).

    Usage (on a model): accepted_range: {arguments: {columns: [share, score], min_value: 0, max_value: 1}}
#}
{% test accepted_range(model, columns, min_value=none, max_value=none) %}

    {%- if min_value is none and max_value is none %}
        {{ exceptions.raise_compiler_error("accepted_range of " ~ model ~ " needs min_value, max_value or both") }}
    {%- endif %}

    select {{ columns | join(', ') }}
    from {{ model }}
    where
        {%- for column in columns %}
        {%- if min_value is not none %}
        {{ 'or ' if not loop.first }}{{ column }} < {{ min_value }}
        {%- endif %}
        {%- if max_value is not none %}
        {{ 'or ' if not (loop.first and min_value is none) }}{{ column }} > {{ max_value }}
        {%- endif %}
        {%- endfor %}

{% endtest %}
