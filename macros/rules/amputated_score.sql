{#
    The score of a side whose thinking is amputated: its response's, times what the ruleset leaves of it, at 6 decimals.

    Usage: {{ amputated_score('response_score', 'is_amputated', 'amputated_multiplier') }} as score
#}
{% macro amputated_score(response_score, is_amputated, multiplier) -%}
    case
            when {{ is_amputated }} then {{ round_like_python(response_score ~ ' * ' ~ multiplier, 6) }}
            else {{ response_score }}
        end
{%- endmacro %}
