{#
    The name of a duel side as people write it: run, sample, rollout and side; a turn's name appends `/<turn>`.

    Usage: {{ duel_side_id('sides') }} as side_id
#}
{% macro duel_side_id(relation) -%}
    {{ relation }}.eval_run_id || '/' || {{ relation }}.sample_id || '#r' || cast({{ relation }}.rollout as varchar)
        || '/' || {{ relation }}.side
{%- endmacro %}
