with selected as (

    select distinct
        corpus_epoch,
        manifest_sha256
    from {{ ref('int_reference_agreement') }}

),

corpus_files as (

    select distinct
        manifest_sha256,
        corpus_epoch,
        schema_version,
        has_immutable_copy
    from {{ ref('int_corpus_files') }}

),

-- A file that bears the wanted name but other bytes: not used, and nothing takes its place.
misnamed as (

    select distinct regexp_extract(artifact_id, 'manifests/([0-9a-f]{64})\.json$', 1) as named_sha256
    from {{ ref('artifacts') }}
    where
        source = 'sn120' and kind = 'manifests'
        and regexp_extract(artifact_id, 'manifests/([0-9a-f]{64})\.json$', 1) not in ('', sha256)

),

-- The manifest itself is there, but cannot be read or asks for no file: nothing takes its place either.
present as (

    select distinct sha256
    from {{ ref('artifacts') }}
    where source = 'sn120' and kind = 'manifests'

),

-- Where a record's manifest is not in the tree, the one manifest of its epoch that is may stand in.
by_epoch as (

    select
        corpus_epoch,
        min(manifest_sha256) as manifest_sha256,
        min(schema_version) as schema_version,
        count(*) as n_manifests
    from corpus_files
    where has_immutable_copy
    group by corpus_epoch

),

int_corpus_manifests as (

    select
        selected.corpus_epoch,
        selected.manifest_sha256,
        case
            when named.manifest_sha256 is not null then named.manifest_sha256
            when misnamed.named_sha256 is null and present.sha256 is null and by_epoch.n_manifests = 1
                then by_epoch.manifest_sha256
        end as used_manifest_sha256,
        coalesce(named.schema_version, by_epoch.schema_version) as schema_version,
        case
            when named.manifest_sha256 is not null then 'sha256'
            when misnamed.named_sha256 is null and present.sha256 is null and by_epoch.n_manifests = 1
                then 'corpus_epoch'
        end as found_by,
        case
            when named.manifest_sha256 is not null then null
            when misnamed.named_sha256 is not null then 'manifest_hash_differs'
            when present.sha256 is not null then 'manifest_unusable'
            when by_epoch.n_manifests > 1 then 'manifest_absent_and_epoch_has_several'
            when by_epoch.n_manifests is null then 'manifest_absent'
        end as fault
    from selected
    left join corpus_files as named on selected.manifest_sha256 = named.manifest_sha256
    left join misnamed on selected.manifest_sha256 = misnamed.named_sha256
    left join present on selected.manifest_sha256 = present.sha256
    left join by_epoch on selected.corpus_epoch = by_epoch.corpus_epoch

)

select * from int_corpus_manifests
