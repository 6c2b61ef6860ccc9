{#
    Ends the build with the one sentence that a step of its own process left in `landing.faults`, for example that the raw
    root does not exist. A Python model that raised would show the user a traceback instead.
#}
{% macro stop_on_fault() -%}
    {%- if execute -%}
        {%- set faults = run_query("select sentence from landing.faults where model = '" ~ this.identifier ~ "'") -%}
        {%- if faults.rows | length > 0 -%}
            {%- do exceptions.raise_compiler_error(faults.rows[0][0]) -%}
        {%- endif -%}
    {%- endif -%}
    select 1
{%- endmacro %}
