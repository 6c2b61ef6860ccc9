{#
    Measured gates with verdict, reason and words, one select for a CTE: `keys`, gate, value, comparison, limit_value,
    verdict, reason, statement. `measured` is a relation with the keys, value, and the columns of `int_mix_gates`;
    `because` says why a null is one where the seed does not.

    Usage: {{ judged_gates('measured', ['mix', 'row_id']) }}
#}
{% macro judged_gates(measured, keys, because='null') -%}
    select
        {{ keys | join(',\n        ') }},
        gate,
        value,
        comparison,
        limit_value,
        verdict,
        reason,
        {{ gate_statement('verdict', 'value', 'reason') }} as statement
    from (
        select * replace ({{ gate_reason('verdict', 'value', because=because) }} as reason)
        from (
            select
                *,
                {{ gate_verdict('value', 'comparison', 'limit_value') }} as verdict
            from {{ measured }}
        ) as judged
    ) as reasoned
{%- endmacro %}
