{# The header fields of a prompt, in its order. Usage: {% for field in header_fields() %} #}
{% macro header_fields() -%}
    {{ return(['ctx', 'src', 'ver', 'lang', 'shard', 'tens', 'units']) }}
{%- endmacro %}

{#
    The fields that an effect is conditioned on and that a search combines: all but the two digits, which would leave
    cells of less than one episode. Usage: {% for field in stratifying_fields() %}
#}
{% macro stratifying_fields() -%}
    {{ return(['ctx', 'src', 'ver', 'lang', 'shard']) }}
{%- endmacro %}

{#
    When a field counts as a marker: its effect given the others is at least this large, and further from chance than
    this many standard deviations. Small effects of large corpora and large ones of small corpora are neither.
    Usage: {{ marker_effect() }}, {{ marker_z() }}
#}
{% macro marker_effect() -%}0.05{%- endmacro %}

{% macro marker_z() -%}4{%- endmacro %}

{#
    Standard deviations from chance of a chi-square statistic, after Wilson and Hilferty (1931). Null without degrees
    of freedom. Usage: {{ chi_square_z('chi_square', 'degrees') }}
#}
{% macro chi_square_z(statistic, degrees) -%}
    (
        cbrt({{ statistic }} / nullif({{ degrees }}, 0)) - (1 - 2 / (9.0 * nullif({{ degrees }}, 0)))
    ) / sqrt(2 / (9.0 * nullif({{ degrees }}, 0)))
{%- endmacro %}
