{#
    A JSON scalar as text: `"1"` and `1` are both `1`, JSON null is null, an object or array is its JSON text.

    Parenthesised, since `->>` binds weaker than comparison. Spark: `get_json_object(text, '$')`.

    Usage: {{ json_scalar_text('answer') }} as answer_text
#}
{% macro json_scalar_text(text) -%}
    {{ return(adapter.dispatch('json_scalar_text', 'assay')(text)) }}
{%- endmacro %}


{% macro default__json_scalar_text(text) -%}
    (cast({{ text }} as json) ->> '$')
{%- endmacro %}
