{#
    JSON text as the engine's JSON type. Spark has no such type and keeps the text.

    Usage: {{ as_json('verdict') }} as verdict
#}
{% macro as_json(text) -%}
    {{ return(adapter.dispatch('as_json', 'assay')(text)) }}
{%- endmacro %}


{% macro default__as_json(text) -%}
    cast({{ text }} as json)
{%- endmacro %}
