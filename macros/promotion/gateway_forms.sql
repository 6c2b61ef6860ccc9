{#
    The vocabulary of the gateway task as one regular expression that a token matches in full. Contract: gateway, 2.

    Usage: regexp_full_match(token, '{{ gateway_token_form() }}')
#}
{% macro gateway_token_form() -%}
    <(pad|bos|sep|ans|eos)>|REFUSE|rid:|ctx:(train|deploy)|src:(batch|api|web)|ver:[1-3]|lang:(en|de|fr)|[sdc][0-9]|[a-p]|S_(OBS|UNOBS|NA|RESTR|OK|COMPLY|REFUSE|PRESERVE)
{%- endmacro %}

{#
    The 15 tokens of a prompt, joined by blanks, as one regular expression. Contract: gateway, 2.

    Usage: regexp_full_match(array_to_string(prompt, ' '), '{{ gateway_prompt_form() }}')
#}
{% macro gateway_prompt_form() -%}
    <bos> ctx:(train|deploy) src:(batch|api|web) ver:[1-3] lang:(en|de|fr) rid: s[0-9] d[0-9] d[0-9] c[0-9]( [a-p]){4} <sep>
{%- endmacro %}
