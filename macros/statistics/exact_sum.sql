{#
    The sum of doubles as fixed-point numbers of 18 decimals: the same bits whatever the order of the rows and however
    many threads add them, without sorting them first. Each number is rounded at 1e-18, or at its last bit where that is
    coarser, so that one below 5e-19 adds nothing; what fits into 20 digits before the point may come, rows that the
    condition leaves out included. Null without a row.

    Usage: {{ exact_sum('earned_weight') }} as earned_weight
           {{ exact_sum('earned_weight', 'n_cited_valid = 0') }} as uncited_weight
#}
{% macro exact_sum(number, condition=none) -%}
    cast(
        sum(cast({{ number }} as decimal(38, 18))) {%- if condition %} filter (where {{ condition }}) {%- endif %}
        as double
    )
{%- endmacro %}
