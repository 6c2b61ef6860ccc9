{#
    One capture group of a regular expression: its text, or null where the text does not match at all. `regexp_extract`
    alone answers an empty text for "no match", which is also a legitimate capture.

    Usage: {{ regex_group('turn_id', '(?s)^(.*):[^:]*$', 1) }} as traj_id
#}
{% macro regex_group(text, pattern, group) -%}
    case when regexp_matches({{ text }}, '{{ pattern }}') then regexp_extract({{ text }}, '{{ pattern }}', {{ group }}) end
{%- endmacro %}
