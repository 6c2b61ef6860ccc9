{#
    The sum of doubles as fixed-point numbers of 18 decimals: the same bits whatever the order of the rows and however many
    threads add them, without sorting them first. Each number is rounded at 1e-18; the sum may reach 1e20, which credit,
    whose weights are bounded, never does. Null without a row.

    Usage: {{ exact_sum('earned_weight') }} as earned_weight
           {{ exact_sum('earned_weight', 'n_cited_valid = 0') }} as uncited_weight
#}
{% macro exact_sum(number, condition=none) -%}
    cast(
        sum(cast({{ number }} as decimal(38, 18))) {%- if condition %} filter (where {{ condition }}) {%- endif %}
        as double
    )
{%- endmacro %}
