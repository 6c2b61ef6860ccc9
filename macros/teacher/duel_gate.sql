{#
    Why a rule blocks a challenger whatever its margin (contract: sn120, B.5): its thoughts are too short, or too few
    pairs pass the causality gate; the length comes first. A gate that is on and has nothing to measure blocks. Fewer
    than two paired turns are no duel, so nothing is blocked. Null: not blocked.

    Usage: {{ duel_gate('rules', 'replays') }} as rejection_reason
    `rule` has min_thought_chars and causality_gamma; `record` has gate_paired_turns, median_thought_chars and
    causality_pass_rate.
#}
{% macro duel_gate(rule, record) -%}
    case
        when coalesce({{ record }}.gate_paired_turns, 0) < 2 then null
        when
            {{ rule }}.min_thought_chars > 0
            and coalesce({{ record }}.median_thought_chars < {{ rule }}.min_thought_chars, true)
            then 'thought_too_short'
        when
            {{ rule }}.causality_gamma > 0
            and coalesce({{ record }}.causality_pass_rate < {{ rule }}.causality_gamma, true)
            then 'causality_fail'
    end
{%- endmacro %}
