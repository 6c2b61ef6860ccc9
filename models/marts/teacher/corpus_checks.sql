with files as (

    select * from {{ ref('int_corpus_files') }}

),

manifests as (

    select * from {{ ref('int_corpus_manifests') }}

),

used_manifests as (

    select distinct used_manifest_sha256
    from manifests

),

corpus_checks as (

    select
        files.corpus_epoch,
        files.manifest_sha256,
        files.role,
        files.key,
        files.artifact_id,
        files.expected_sha256,
        files.found_sha256,
        files.expected_turns,
        files.n_rows as found_rows,
        used_manifests.used_manifest_sha256 is not null as is_wanted,
        case when files.fault is null then 'used' else 'not_used' end as verdict,
        files.fault as reason
    from files
    left join used_manifests on files.manifest_sha256 = used_manifests.used_manifest_sha256

    union all

    select
        corpus_epoch,
        manifest_sha256,
        'manifest' as role,
        'turns/manifests/' || manifest_sha256 || '.json' as key,
        cast(null as varchar) as artifact_id,
        manifest_sha256 as expected_sha256,
        used_manifest_sha256 as found_sha256,
        cast(null as bigint) as expected_turns,
        cast(null as bigint) as found_rows,
        true as is_wanted,
        case when found_by = 'sha256' then 'used' else 'not_used' end as verdict,
        case
            when found_by = 'sha256' then null
            when found_by = 'corpus_epoch' then 'manifest_absent_its_epoch_stands_in'
            else fault
        end as reason
    from manifests

)

select * from corpus_checks
order by corpus_epoch, manifest_sha256, role, key
