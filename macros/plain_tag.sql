{# A question's tag as people read it: without `reference:` or `behavior:` before it; null for an empty one. #}
{% macro plain_tag(tag) -%}
    nullif(regexp_replace({{ tag }}, '^(reference|behavior):', ''), '')
{%- endmacro %}
