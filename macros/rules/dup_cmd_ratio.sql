{#
    Share of commands that repeat another: 0 without commands, null where their number is not known.

    Usage: {{ dup_cmd_ratio('n_distinct_cmds', 'n_cmds') }} as dup_cmd_ratio
#}
{% macro dup_cmd_ratio(n_distinct, n_cmds) -%}
    case when {{ n_cmds }} = 0 then 0.0 else 1.0 - {{ n_distinct }} / {{ n_cmds }} end
{%- endmacro %}
