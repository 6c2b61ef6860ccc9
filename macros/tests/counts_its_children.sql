{#
    Fails for every row whose count column differs from the number of its rows in the child model. A null count means
    that the list is absent, so there must be no child. Children without a parent are the business of
    `rows_have_parent`.

    `columns` is the key of the parent in both models; `only` is a condition on the children.

    Usage (on a model):
        counts_its_children:
          arguments:
            count_column: n_king_messages
            child: ref('stg_sn97__messages')
            columns: [artifact_id, line]
            only: side = 'king'
#}
{% test counts_its_children(model, count_column, child, columns, only='true') %}

    with children as (

        select
            {{ columns | join(', ') }},
            count(*) as n_found
        from {{ child }}
        where {{ only }}
        group by {{ columns | join(', ') }}

    )

    select
        {%- for column in columns %}
        counted.{{ column }},
        {%- endfor %}
        counted.{{ count_column }},
        coalesce(children.n_found, 0) as n_found
    from {{ model }} as counted
    left join children
        on
            {%- for column in columns %}
            {{ 'and ' if not loop.first }}counted.{{ column }} = children.{{ column }}
            {%- endfor %}
    where coalesce(counted.{{ count_column }}, 0) <> coalesce(children.n_found, 0)

{% endtest %}
