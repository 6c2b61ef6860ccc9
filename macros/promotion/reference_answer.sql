{#
    The right answer to a sound prompt: the payload reversed, each symbol shifted by the category, modulo 16.
    Contract: gateway, 2.

    Usage: {{ reference_answer('prompt') }} as reference
#}
{% macro reference_answer(prompt) -%}
    list_transform(
        list_reverse({{ prompt }}[11:14]),
        lambda symbol: chr(
            cast(97 + (ascii(symbol) - 97 + try_cast(substr({{ prompt }}[10], 2) as integer)) % 16 as integer)
        )
    )
{%- endmacro %}
