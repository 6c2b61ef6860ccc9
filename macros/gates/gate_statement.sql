{#
    What a gate saw and what it asks, in the words of seed `gates`: "the score is 0.91 (asked: at least 0.85)". `gates`
    names the relation with limit_value, asks, passes and fails, where a select has several; `reason` says why an unknown
    value is unknown.

    Usage: {{ gate_statement('verdict', 'value', 'reason') }} as statement
#}
{% macro gate_statement(verdict, value, reason, gates='') -%}
    {%- set of = gates ~ '.' if gates else '' -%}
    replace(
            replace(
                case {{ verdict }}
                    when 'pass' then {{ of }}passes
                    when 'fail' then {{ of }}fails
                    else 'not known: ' || {{ reason }}
                end || ' (asked: ' || {{ of }}asks || ')',
                '{value}',
                coalesce(format('{:.6g}', {{ value }}), 'not known')
            ),
            '{limit}',
            coalesce(format('{:.6g}', {{ of }}limit_value), 'not known')
        )
{%- endmacro %}
