{#
    A landed table, and the fact that it stands only after `artifacts` has run.

    Usage: from {{ landed('sn97', 'messages') }}
#}
{% macro landed(source_name, table_name) -%}
    {%- do ref('artifacts') -%}
    {{ source(source_name, table_name) }}
{%- endmacro %}
