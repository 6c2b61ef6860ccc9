{# Holds DuckDB to ASSAY_THREADS threads where it is set; without it DuckDB takes every core. #}
{% macro use_threads() -%}
    {%- if env_var('ASSAY_THREADS', '') -%}
        set global threads = {{ env_var('ASSAY_THREADS') | int }}
    {%- else -%}
        select 1
    {%- endif -%}
{%- endmacro %}
