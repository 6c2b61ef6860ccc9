-- From the list of files, not from their headers: a file whose header cannot be read is a checkpoint too.
with artifacts as (

    select * from {{ ref('artifacts') }}
    where source = 'gateway' and kind = 'checkpoints'

),

named as (

    select
        artifact_id,
        sha256,
        {{ regex_group('artifact_id', '^gateway/([^/]+)/', 1) }} as fixture,
        {{ regex_group('artifact_id', '^gateway/[^/]+/(.*)$', 1) }} as checkpoint
    from artifacts

),

int_checkpoint_files as (

    select
        artifact_id,
        fixture,
        checkpoint,
        sha256,
        {{ checkpoint_columns('checkpoint') }}
    from named

)

select * from int_checkpoint_files
