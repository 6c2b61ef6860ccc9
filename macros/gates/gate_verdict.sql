{#
    The three answers of a gate: `pass`, `fail` or `unknown`. What is null, nan or infinite is unknown, and unknown never
    passes. `comparison` is one of `at_least`, `at_most`, `above`, `equals`; another one is unknown too.

    Usage: {{ gate_verdict('value', 'comparison', 'limit_value') }} as verdict
#}
{% macro gate_verdict(value, comparison, limit) -%}
    case
            when {{ value }} is null or not isfinite({{ value }}) then 'unknown'
            when {{ limit }} is null or not isfinite({{ limit }}) then 'unknown'
            when {{ comparison }} = 'at_least' then case when {{ value }} >= {{ limit }} then 'pass' else 'fail' end
            when {{ comparison }} = 'at_most' then case when {{ value }} <= {{ limit }} then 'pass' else 'fail' end
            when {{ comparison }} = 'above' then case when {{ value }} > {{ limit }} then 'pass' else 'fail' end
            when {{ comparison }} = 'equals' then case when {{ value }} = {{ limit }} then 'pass' else 'fail' end
            else 'unknown'
        end
{%- endmacro %}
