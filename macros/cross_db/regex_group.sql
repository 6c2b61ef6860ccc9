{#
    One capture group of a regular expression: its text, or null where the text does not match at all.

    DuckDB alone answers an empty text for "no match", which is also a legitimate capture. The pattern is a regular
    expression without look-around and back-references; write character classes (`[0-9]`), never a backslash, since
    Spark drops the backslash of a plain literal. Spark: `regexp_like` instead of `regexp_matches`.

    Usage: {{ regex_group('turn_id', '(?s)^(.*):[^:]*$', 1) }} as traj_id
#}
{% macro regex_group(text, pattern, group) -%}
    {{ return(adapter.dispatch('regex_group', 'assay')(text, pattern, group)) }}
{%- endmacro %}


{% macro default__regex_group(text, pattern, group) -%}
    case when regexp_matches({{ text }}, '{{ pattern }}') then regexp_extract({{ text }}, '{{ pattern }}', {{ group }}) end
{%- endmacro %}
