{#
    The 97.5 % quantile of the normal distribution: 95 % of its mass lies between minus and plus this.

    Usage: {{ normal_quantile_975() }}
#}
{% macro normal_quantile_975() -%}
    {{ return(1.959963984540054) }}
{%- endmacro %}
