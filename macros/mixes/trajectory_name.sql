{#
    The name of a trajectory that is no duel side: its file and line; a turn's name appends `/<turn>`. Lines are padded, so
    that names sort as lines do.

    Usage: {{ trajectory_name('trajectories') }} as trajectory_name
#}
{% macro trajectory_name(relation) -%}
    {{ relation }}.artifact_id || '#' || printf('%09d', {{ relation }}.line)
{%- endmacro %}
