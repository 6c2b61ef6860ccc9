-- Hooks at the beginning and the end of a run make the table, no model does.
with recorded as (

    select * from {{ source('runs', 'builds') }}

),

builds as (

    select
        build_id,
        started_at,
        finished_at,
        duration_seconds,
        state,
        n_models,
        n_built,
        n_failed,
        n_skipped,
        n_warnings,
        first_failed,
        assay_version,
        code_sha256,
        seeds_sha256,
        vars,
        raw_root,
        n_files,
        inputs_sha256,
        manifest_sha256
    from recorded

)

select * from builds
