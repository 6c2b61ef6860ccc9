{#
    Why a verdict is no pass: what seed `gates` says of its failure, or why it is unknown. Null where it passes.
    `gates` names the relation with limit_value, unknown_reason and reason, where a select has several; `because`, where
    given, goes before the seed's reason for a null.

    Usage: {{ gate_reason('verdict', 'value') }} as reason
#}
{% macro gate_reason(verdict, value, gates='', because='null') -%}
    {%- set of = gates ~ '.' if gates else '' -%}
    case {{ verdict }}
            when 'fail' then {{ of }}reason
            when 'unknown'
                then case
                    when {{ of }}limit_value is null or not isfinite({{ of }}limit_value)
                        then 'the gate has no limit'
                    when {{ value }} is null then coalesce({{ because }}, {{ of }}unknown_reason)
                    when not isfinite({{ value }}) then 'the value is not a finite number'
                    else 'the gate has no comparison that is known'
                end
        end
{%- endmacro %}
