{#
    Fails for every row with nan or an infinity in one of the columns. Null passes.

    Usage (on a model): is_finite: {arguments: {columns: [king_score, challenger_score]}}
#}
{% test is_finite(model, columns) %}

    select {{ columns | join(', ') }}
    from {{ model }}
    where
        {%- for column in columns %}
        {{ 'or ' if not loop.first }}not isfinite({{ column }})
        {%- endfor %}

{% endtest %}
