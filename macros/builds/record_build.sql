{#
    Adds the row of this build, failed ones included, and writes it below the exports where their manifest was written:
    what changes from build to build stands there and not in MANIFEST.json.
#}
{% macro record_build(results) -%}
    {%- if execute and flags.WHICH in ('build', 'run') -%}
        {%- set tables = ['model', 'seed'] -%}
        {%- set n_models = graph.nodes.values() | selectattr('resource_type', 'in', tables) | list | length -%}
        {%- set made = results
            | selectattr('node.resource_type', 'in', tables)
            | selectattr('status', 'equalto', 'success') | list -%}
        {%- set failed = results | selectattr('status', 'in', ['error', 'fail', 'runtime error']) | list -%}
        {%- set n_skipped = results | selectattr('status', 'equalto', 'skipped') | list | length -%}
        {%- set known -%}
            select table_schema || '.' || table_name
            from information_schema.tables
            where (table_schema, table_name) in (('staging', 'artifacts'), ('exports', 'manifest'))
        {%- endset -%}
        {%- set known = run_query(known).columns[0].values() -%}
        {%- set exported = made | selectattr('node.name', 'equalto', 'manifest') | list | length > 0 -%}
        {%- set quote = dbt.string_literal -%}
        insert into landing.builds by name
        select
            {{ quote(invocation_id) }} as build_id,
            {{ quote(run_started_at.isoformat()) }}::timestamptz as started_at,
            get_current_timestamp() as finished_at,
            epoch(finished_at - started_at) as duration_seconds,
            {% if failed or n_skipped -%} 'failed'
            {%- elif made | length == n_models -%} 'complete'
            {%- else -%} 'partial'
            {%- endif %} as state,
            {{ n_models }} as n_models,
            {{ made | length }} as n_built,
            {{ failed | length }} as n_failed,
            {{ n_skipped }} as n_skipped,
            {{ results | selectattr('status', 'equalto', 'warn') | list | length }} as n_warnings,
            {{ quote(failed[0].node.name) if failed else 'null' }} as first_failed,
            unnest(assay_code()),
            {{ quote(tojson(invocation_args_dict.get('vars') or {}, sort_keys=true)) }} as vars,
            {{ quote(var('raw_root', env_var('ASSAY_RAW_ROOT', 'tests/fixtures/raw'))) }} as raw_root,
            {% if 'staging.artifacts' in known -%}
                inputs.n_files,
                inputs.inputs_sha256,
            {%- endif %}
            {% if exported and 'exports.manifest' in known -%}
                (select sha256 from exports.manifest where file = 'MANIFEST.json') as manifest_sha256
            {%- endif %}
        {% if 'staging.artifacts' in known -%}
            from (
                select
                    count(*) as n_files,
                    sha256(coalesce(string_agg(artifact_id || chr(9) || sha256 || chr(10), '' order by artifact_id), ''))
                        as inputs_sha256
                from staging.artifacts
            ) as inputs
        {%- endif %};
        {% if exported -%}
            copy (select * from landing.builds where build_id = {{ quote(invocation_id) }})
            to {{ quote(env_var('ASSAY_EXPORTS', 'exports') ~ '/BUILD.json') }} (format json);
        {%- endif %}
    {%- endif %}
    select 1
{%- endmacro %}
