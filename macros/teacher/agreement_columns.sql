{#
    Columns that sum up agreement over a group of turns; the means leave out pools of one, whose shares say nothing.

    Usage: select day, {{ agreement_columns() }} from turns group by day
    Needs the columns of `reference_agreement`; sums run in order of epoch and turn, so that they do not vary.
#}
{% macro agreement_columns() -%}
    count(*) as n_turns,
        count(*) filter (where is_vacuous) as n_vacuous,
        count(*) filter (where not is_vacuous) as n_compared,
        {%- for share in ['modal_share', 'modal_action_share', 'modal_norm_share'] %}
        fsum({{ share }} order by corpus_epoch, turn_id) filter (where not is_vacuous)
        / nullif(count(*) filter (where not is_vacuous), 0) as mean_{{ share }},
        {%- endfor %}
        {{ safe_div('count(*) filter (where modal_share = 1 and not is_vacuous)',
            'count(*) filter (where not is_vacuous)') }} as unanimous_token_share,
        {{ safe_div('count(*) filter (where modal_action_share = 1 and not is_vacuous)',
            'count(*) filter (where not is_vacuous)') }} as unanimous_action_share
{%- endmacro %}
