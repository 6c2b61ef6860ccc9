{#
    The name of a duel side as people write it: run, sample, rollout and side; a turn's name appends `/<turn>`. Null where
    the relation has no such sample.

    Usage: {{ duel_side_id('generated_lines', 'sides.side') }} as side_id
#}
{% macro duel_side_id(relation, side) -%}
    {{ relation }}.eval_run_id || '/' || {{ relation }}.sample_id || '#r' || cast({{ relation }}.rollout as varchar)
            || '/' || {{ side }}
{%- endmacro %}
