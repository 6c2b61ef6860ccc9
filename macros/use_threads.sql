{# Holds DuckDB to ASSAY_THREADS threads where it is set, which the plugin has checked; without it DuckDB takes every core. #}
{% macro use_threads() -%}
    {%- set threads = env_var('ASSAY_THREADS', '') -%}
    {{ 'set global threads = ' ~ threads if threads else 'select 1' }}
{%- endmacro %}
