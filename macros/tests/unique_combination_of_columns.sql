{#
    Fails for every combination of values that more than one row has. Null counts as a value.

    Usage (on a model): unique_combination_of_columns: {arguments: {columns: [artifact_id, line]}}
#}
{% test unique_combination_of_columns(model, columns) %}

    select
        {{ columns | join(', ') }},
        count(*) as n_rows
    from {{ model }}
    group by {{ columns | join(', ') }}
    having count(*) > 1

{% endtest %}
