{# The table that a row is added to at the end of every build; `builds.builds` shows it. #}
{% macro keep_builds() -%}
    create table if not exists landing.builds (
        build_id varchar,
        started_at timestamptz,
        finished_at timestamptz,
        duration_seconds double,
        state varchar,
        n_models bigint,
        n_built bigint,
        n_failed bigint,
        n_skipped bigint,
        n_warnings bigint,
        first_failed varchar,
        assay_version varchar,
        code_sha256 varchar,
        seeds_sha256 varchar,
        vars json,
        raw_root varchar,
        n_files bigint,
        inputs_sha256 varchar,
        manifest_sha256 varchar
    )
{%- endmacro %}
