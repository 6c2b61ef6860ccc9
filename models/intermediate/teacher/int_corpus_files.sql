with manifests as (

    select * from {{ ref('stg_sn120__manifests') }}

),

entries as (

    select * from {{ ref('stg_sn120__manifest_entries') }}

),

artifacts as (

    select
        artifact_id,
        kind,
        sha256,
        content_sha256,
        n_rows,
        -- A key names the file as published; unpacked or packed again, it is the same file.
        regexp_replace(artifact_id, '\.gz$', '') as key_path
    from {{ ref('artifacts') }}
    where source = 'sn120'

),

-- The same bytes under two names (the pointer and its immutable copy) are one manifest.
known_manifests as (

    select
        artifacts.sha256 as manifest_sha256,
        manifests.artifact_id as manifest_artifact_id,
        manifests.line,
        manifests.corpus_epoch,
        coalesce(manifests.schema_version, 1) as schema_version,
        manifests.index_key,
        manifests.index_sha256,
        manifests.index_n_turns,
        bool_or(ends_with(manifests.artifact_id, 'manifests/' || artifacts.sha256 || '.json')) over (
            partition by artifacts.sha256
        ) as has_immutable_copy,
        row_number() over (partition by artifacts.sha256 order by manifests.artifact_id) as nth_copy
    from manifests
    inner join artifacts on manifests.artifact_id = artifacts.artifact_id

),

wanted as (

    select
        manifest_sha256,
        'index' as role,
        index_key as key,
        index_sha256 as expected_sha256,
        index_n_turns as expected_turns
    from known_manifests
    where nth_copy = 1 and schema_version >= 2

    union all

    select
        known_manifests.manifest_sha256,
        case
            when known_manifests.schema_version = 1 then 'shard'
            when entries.format = 'traj_v1' then 'chunk'
            else 'view_chunk'
        end as role,
        entries.key,
        entries.sha256 as expected_sha256,
        entries.n_turns as expected_turns
    from known_manifests
    inner join entries
        on
            known_manifests.manifest_artifact_id = entries.artifact_id
            and known_manifests.line = entries.line
    where
        known_manifests.nth_copy = 1
        and entries.list_name = 'shards'
        and entries.active
        and (
            (known_manifests.schema_version = 1 and entries.format is null)
            or (known_manifests.schema_version = 2 and entries.format = 'traj_v1')
            or (known_manifests.schema_version >= 3 and entries.format in ('traj_v1', 'view_v4'))
        )

),

found as (

    select
        wanted.*,
        artifacts.artifact_id,
        artifacts.n_rows,
        case when wanted.role = 'index' then artifacts.sha256 else artifacts.content_sha256 end as found_sha256,
        case wanted.role
            when 'index' then 'turn_index'
            when 'shard' then 'flat_turns'
            else 'trajectories'
        end as expected_kind,
        artifacts.kind,
        min(wanted.role) over a_key <> max(wanted.role) over a_key as has_two_formats,
        row_number() over (
            partition by wanted.manifest_sha256, wanted.role, wanted.key
            order by
                case when wanted.role = 'index' then artifacts.sha256 else artifacts.content_sha256 end
                = wanted.expected_sha256 desc nulls last,
                artifacts.artifact_id asc
        ) as nth_file
    from wanted
    left join artifacts on 'sn120/' || regexp_replace(wanted.key, '\.gz$', '') = artifacts.key_path
    window a_key as (partition by wanted.manifest_sha256, wanted.key)

),

int_corpus_files as (

    select
        found.manifest_sha256,
        known_manifests.manifest_artifact_id,
        known_manifests.has_immutable_copy,
        known_manifests.corpus_epoch,
        known_manifests.schema_version,
        found.role,
        found.key,
        found.artifact_id,
        found.expected_sha256,
        found.found_sha256,
        found.expected_turns,
        found.n_rows,
        case
            when found.key is null then 'no_key'
            when found.has_two_formats then 'listed_with_two_formats'
            when found.artifact_id is null then 'absent'
            when found.expected_sha256 is null then 'no_hash'
            when found.found_sha256 <> found.expected_sha256 then 'hash_differs'
            when coalesce(found.kind, '') <> found.expected_kind then 'other_kind'
            when found.role = 'index' and coalesce(found.n_rows <> found.expected_turns, true) then 'row_count_differs'
        end as fault
    from found
    inner join known_manifests
        on found.manifest_sha256 = known_manifests.manifest_sha256 and known_manifests.nth_copy = 1
    where found.nth_file = 1

)

select * from int_corpus_files
