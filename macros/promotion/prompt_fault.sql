{#
    Why a prompt is none of the gateway task, as a sentence; null for a sound one.

    Usage: {{ prompt_fault('prompt') }} as fault
#}
{% macro prompt_fault(prompt) -%}
    case
        when {{ prompt }} is null then 'there is no prompt'
        when len({{ prompt }}) <> 15 then 'prompt has ' || len({{ prompt }}) || ' tokens, expected 15'
        when {{ unknown_token(prompt) }} is not null
            then 'prompt has the unknown token ' || {{ unknown_token(prompt) }}
        when not regexp_full_match(array_to_string({{ prompt }}, ' '), '{{ gateway_prompt_form() }}')
            then 'prompt has tokens out of place'
    end
{%- endmacro %}

{#
    The first token of a list that the vocabulary does not know, cut to 40 characters; null where all are known.

    Usage: {{ unknown_token('continuation') }}
#}
{% macro unknown_token(tokens) -%}
    left(
        list_filter(
            {{ tokens }}, lambda token: token is null or not regexp_full_match(token, '{{ gateway_token_form() }}')
        )[1],
        40
    )
{%- endmacro %}
