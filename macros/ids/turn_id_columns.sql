{#
    The parts of a corpus turn id `<traj_id>:<turn_idx>`, two columns: traj_id, turn_idx. Contract: sn120, A.2.3.

    Split at the LAST colon, since a trajectory id may hold any character, line ends and colons included.

    Usage: {{ turn_id_columns('turn_id') }},
#}
{% macro turn_id_columns(turn_id) -%}
    {{ regex_group(turn_id, '(?s)^(.*):[^:]*$', 1) }} as traj_id,
        try_cast({{ regex_group(turn_id, ':([0-9]+)$', 1) }} as bigint) as turn_idx
{%- endmacro %}
