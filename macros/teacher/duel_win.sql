{#
    Does the challenger win under a rule (contract: sn120, B.5)? Its margin must exceed both `k_sigma` standard errors
    and `min_margin`, and no gate may block it. Null where the duel cannot be replayed; false with fewer than two paired
    turns.

    Usage: {{ duel_win('rules', 'margins', 'replays') }} as challenger_wins
#}
{% macro duel_win(rule, margin, record) -%}
    case
        when {{ margin }}.margin is null then null
        when {{ margin }}.n_paired_turns < 2 then false
        else
            {{ margin }}.margin > greatest({{ rule }}.k_sigma * {{ margin }}.se, {{ rule }}.min_margin)
            and {{ duel_gate(rule, record) }} is null
    end
{%- endmacro %}
