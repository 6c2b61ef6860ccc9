{#
    Fails for every row with a null in one of the columns: `not_null` for a whole key in one pass over the model.

    Usage (on a model): not_null_columns: {arguments: {columns: [artifact_id, line]}}
#}
{% test not_null_columns(model, columns) %}

    select {{ columns | join(', ') }}
    from {{ model }}
    where
        {%- for column in columns %}
        {{ 'or ' if not loop.first }}{{ column }} is null
        {%- endfor %}

{% endtest %}
