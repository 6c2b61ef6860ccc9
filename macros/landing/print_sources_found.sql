{#
    Says at the end of a run which sources the raw tree had, how much was read, what was refused, and what in the raw root
    belongs to no source: a root that is one folder too high or too deep has nothing else.
    Silent where there is nothing to say of this run: `artifacts` failed, or was never built, or by an older version.
#}
{% macro print_sources_found(results) -%}
    {%- set failed = results
        | selectattr('node.name', 'equalto', 'artifacts')
        | selectattr('status', 'equalto', 'error') | list -%}
    {%- if execute and flags.WHICH in ('build', 'run') and not failed -%}
        {#- The catalogue itself is asked: dbt's cache still knows a table whose transaction was rolled back. -#}
        {%- set built -%}
            select 1
            from information_schema.tables
            where (table_schema, table_name) in (('staging', 'artifacts'), ('landing', 'strangers'))
        {%- endset -%}
        {%- if run_query(built).rows | length == 2 -%}
            {%- set found -%}
                select
                    known.source,
                    count(artifacts.artifact_id) as n_files,
                    coalesce(sum(artifacts.bytes), 0)::bigint as bytes,
                    coalesce(sum(artifacts.n_lines), 0)::bigint as n_lines,
                    coalesce(sum(artifacts.n_quarantined), 0)::bigint as n_quarantined,
                    count(*) filter (where artifacts.status = 'unrecognised') as n_unrecognised
                from (values ('sn97'), ('sn120'), ('mini_coder'), ('gateway'), ('trajectories'), ('tokenizer'))
                    as known (source)
                left join staging.artifacts as artifacts on known.source = artifacts.source
                group by known.source
                order by known.source
            {%- endset -%}
            {%- do print('') -%}
            {%- do print('Sources in ' ~ var('raw_root', env_var('ASSAY_RAW_ROOT', 'tests/fixtures/raw')) ~ ':') -%}
            {%- for row in run_query(found).rows -%}
                {%- if row['n_files'] == 0 -%}
                    {%- set means = 'figures of tokens are unknown unless ASSAY_TOKENIZER names one'
                        if row['source'] == 'tokenizer' else 'its models are empty' -%}
                    {%- do print('  ' ~ row['source'] ~ ': absent, ' ~ means) -%}
                {%- else -%}
                    {%- do print(
                        '  ' ~ row['source'] ~ ': ' ~ row['n_files'] ~ ' files, '
                        ~ '%.1f' | format(row['bytes'] | float / 1000000) ~ ' MB, ' ~ row['n_lines'] ~ ' lines, '
                        ~ row['n_quarantined'] ~ ' quarantined'
                        ~ (', ' ~ row['n_unrecognised'] ~ ' files not recognised' if row['n_unrecognised'] else '')
                    ) -%}
                {%- endif -%}
            {%- endfor -%}
            {%- set links = run_query(
                "select artifact_id from staging.artifacts where status = 'link_out_of_raw_root' order by artifact_id"
            ).columns[0].values() -%}
            {%- if links -%}
                {%- do print(
                    '  not read, since they are links that lead out of the raw root: ' ~ tojson(links[:5] | list)
                    ~ (' and ' ~ (links | length - 5) ~ ' more' if links | length > 5 else '')
                    ~ ' (the var follow_links_out_of_raw_root reads them)'
                ) -%}
            {%- endif -%}
            {%- set strangers = run_query('select name from landing.strangers order by name').columns[0].values() -%}
            {%- if strangers -%}
                {%- do print(
                    '  not part of a raw tree, not read: ' ~ tojson(strangers[:5] | list)
                    ~ (' and ' ~ (strangers | length - 5) ~ ' more' if strangers | length > 5 else '')
                ) -%}
            {%- endif -%}
            {%- do print('Warehouse: ' ~ env_var('ASSAY_DB', 'warehouse.duckdb')) -%}
        {%- endif -%}
    {%- endif -%}
    select 1
{%- endmacro %}
