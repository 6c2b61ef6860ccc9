{#
    A quotient of doubles that is null, not infinite, where the denominator is 0 or null.

    Usage: {{ safe_div('n_earning', 'n_turns') }} as earn_rate
#}
{% macro safe_div(numerator, denominator) -%}
    (cast({{ numerator }} as double) / nullif(cast({{ denominator }} as double), 0))
{%- endmacro %}
