{#
    The sum of doubles one after the other, as a plain loop adds them: for sums whose last bit a published, rounded
    number depends on. Null without a row. `fsum` is nearer the truth, and so not the same.

    Usage: {{ sum_in_order('weight * value', 'question_index', 'value is not null') }} as sum_weighted
#}
{% macro sum_in_order(number, key, condition='true') -%}
    list_sum(list({{ number }} order by {{ key }}) filter (where {{ condition }}))
{%- endmacro %}
