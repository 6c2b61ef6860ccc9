{#
    Names the folders below the raw tree by which no eval run counts, while it builds: copies, and the second of two that
    state one run. A hook of `run_files`; quoted as JSON, since a file's name may hold anything.
#}
{% macro name_uncounted_files(run_files) -%}
    {%- if execute -%}
        {%- set uncounted -%}
            select
                folder,
                min(reason) as reason
            from {{ run_files }}
            where not is_counted
            group by folder
            order by folder
        {%- endset -%}
        {%- set rows = run_query(uncounted).rows -%}
        {%- for row in rows[:10] -%}
            {%- do print('Not counted: ' ~ tojson(row['folder']) ~ ': ' ~ tojson(row['reason'])) -%}
        {%- endfor -%}
        {%- if rows | length > 10 -%}
            {%- do print('Not counted: ' ~ (rows | length - 10) ~ ' more folders; see credit.run_files') -%}
        {%- endif -%}
    {%- endif -%}
    select 1
{%- endmacro %}
