{{ config(post_hook="{{ name_uncounted_files(this) }}") }}
with files as (

    select * from {{ ref('int_run_files') }}

),

run_files as (

    select
        artifact_id,
        kind,
        folder,
        eval_run_id,
        is_counted,
        copy_of,
        reason
    from files

)

select * from run_files
