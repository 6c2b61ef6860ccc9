{#
    Fails for every combination of values of `unique` that more than one row has (null counts as a value), and for every
    row with a null in one of the columns of `not_null`: a table's key and its required columns in one test, since a
    test costs a build far more than a column in it does. Either list may be left out.

    Usage (on a model): unique_and_not_null: {arguments: {unique: [artifact_id, line], not_null: [artifact_id, line]}}
#}
{% test unique_and_not_null(model, unique=[], not_null=[]) %}

    {%- if not unique and not not_null %}
        {{ exceptions.raise_compiler_error("unique_and_not_null needs the columns of unique, of not_null or of both") }}
    {%- endif %}
    {%- set shown = unique or not_null %}

    {%- if unique %}
    select
        'repeated' as fault,
        {{ unique | join(', ') }}
    from {{ model }}
    group by {{ unique | join(', ') }}
    having count(*) > 1
    {%- endif %}
    {%- if unique and not_null %}

    union all
    {% endif %}
    {%- if not_null %}
    select
        'null' as fault,
        {{ shown | join(', ') }}
    from {{ model }}
    where
        {%- for column in not_null %}
        {{ 'or ' if not loop.first }}{{ column }} is null
        {%- endfor %}
    {%- endif %}

{% endtest %}
