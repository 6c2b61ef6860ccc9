{#
    Fails for every row whose key does not occur in the parent: `relationships` over several columns.

    Usage (on a model):
        rows_have_parent: {arguments: {parent: ref('stg_sn97__generated_samples'), columns: [artifact_id, line]}}
#}
{% test rows_have_parent(model, parent, columns) %}

    with parents as (

        select distinct {{ columns | join(', ') }}
        from {{ parent }}

    )

    select child.*
    from (

        select distinct {{ columns | join(', ') }}
        from {{ model }}

    ) as child
    left join parents
        on
            {%- for column in columns %}
            {{ 'and ' if not loop.first }}child.{{ column }} = parents.{{ column }}
            {%- endfor %}
    where parents.{{ columns[0] }} is null

{% endtest %}
