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
    Standard deviations from chance of a chi-square statistic, after Wilson and Hilferty (1931). Null without degrees
    of freedom. Usage: {{ chi_square_z('chi_square', 'degrees') }}
#}
{% macro chi_square_z(statistic, degrees) -%}
    (
        cbrt({{ statistic }} / nullif({{ degrees }}, 0)) - (1 - 2 / (9.0 * nullif({{ degrees }}, 0)))
    ) / sqrt(2 / (9.0 * nullif({{ degrees }}, 0)))
{%- endmacro %}
