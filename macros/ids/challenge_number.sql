{#
    The number of a challenge id `chal-<number>`; null where the id does not have the form. Contract: sn120, A.1.

    Usage: {{ challenge_number('challenge_id') }} as challenge_number
#}
{% macro challenge_number(challenge_id) -%}
    try_cast({{ regex_group(challenge_id, '^chal-([0-9]+)$', 1) }} as bigint)
{%- endmacro %}
