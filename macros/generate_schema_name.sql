{#
    A model's schema is the name of its room (`staging`, `credit`, `gates` …) and nothing before it,
    so that people write `from credit.turns`.
#}
{% macro generate_schema_name(custom_schema_name, node) -%}
    {{ (custom_schema_name or target.schema) | trim }}
{%- endmacro %}
