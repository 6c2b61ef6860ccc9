with turns as (

    select * from {{ ref('reference_agreement') }}

),

manifests as (

    select * from {{ ref('int_corpus_manifests') }}

),

corpus_files as (

    select * from {{ ref('int_corpus_files') }}

),

turn_index as (

    select
        *,
        row_number() over (partition by artifact_id, turn_id order by line) as nth_row
    from {{ ref('stg_sn120__turn_index') }}

),

-- One row a key, also where a manifest lists it with two formats; that is a fault of both.
chunk_files as (

    select *
    from corpus_files
    where role in ('chunk', 'view_chunk')
    qualify row_number() over (partition by manifest_sha256, key order by role) = 1

),

trajectories as (

    select
        artifact_id,
        line,
        traj_id
    from {{ ref('stg_sn120__trajectories') }}

),

-- `traj_line` counts the lines that are not blank from 0, those that were refused included.
chunk_lines as (

    select
        artifact_id,
        line,
        row_number() over (partition by artifact_id order by line) - 1 as traj_line
    from (
        select
            artifact_id,
            line
        from trajectories
        union
        select
            artifact_id,
            line
        from {{ ref('quarantine') }}
    )

),

flat_turns as (

    select
        *,
        traj_id || ':' || turn_idx as turn_id,
        row_number() over (partition by artifact_id, traj_id, turn_idx order by line) as nth_row
    from {{ ref('stg_sn120__flat_turns') }}

),

flat_places as (

    select
        shards.manifest_sha256,
        flat_turns.*,
        row_number() over (
            partition by shards.manifest_sha256, flat_turns.turn_id
            order by shards.key
        ) as nth_shard
    from corpus_files as shards
    inner join flat_turns on shards.artifact_id = flat_turns.artifact_id
    where shards.role = 'shard' and shards.fault is null and flat_turns.nth_row = 1

),

joined as (

    select
        turns.corpus_epoch,
        turns.turn_id,
        turns.traj_id as split_traj_id,
        manifests.used_manifest_sha256,
        manifests.found_by as manifest_found_by,
        manifests.schema_version,
        manifests.fault as manifest_fault,
        indexes.fault as index_fault,
        indexes.role is not null as has_index,
        turn_index.turn_id is not null as is_indexed,
        chunks.role as chunk_role,
        chunks.fault as chunk_fault,
        chunks.artifact_id as chunk_artifact_id,
        chunk_lines.line as chunk_line,
        trajectories.line is not null as has_trajectory,
        trajectories.traj_id as trajectory_traj_id,
        turn_index.traj_id as index_traj_id,
        turn_index.turn_idx as index_turn_idx,
        turn_index.msg_pos,
        turn_index.node_id,
        turn_index.stratum as index_stratum,
        turn_index.source as index_source,
        turn_index.language as index_language,
        turn_index.phase as index_phase,
        turn_index.n_prefix_chars as index_n_prefix_chars,
        flat_places.artifact_id as flat_artifact_id,
        flat_places.line as flat_line,
        flat_places.traj_id as flat_traj_id,
        flat_places.turn_idx as flat_turn_idx,
        flat_places.stratum as flat_stratum,
        flat_places.source as flat_source,
        flat_places.language as flat_language,
        flat_places.phase as flat_phase,
        flat_places.n_prefix_chars as flat_n_prefix_chars
    from turns
    left join manifests
        on
            turns.corpus_epoch is not distinct from manifests.corpus_epoch
            and turns.manifest_sha256 is not distinct from manifests.manifest_sha256
    left join corpus_files as indexes
        on manifests.used_manifest_sha256 = indexes.manifest_sha256 and indexes.role = 'index'
    left join turn_index
        on
            indexes.artifact_id = turn_index.artifact_id
            and indexes.fault is null
            and turns.turn_id = turn_index.turn_id
            and turn_index.nth_row = 1
    left join chunk_files as chunks
        on
            manifests.used_manifest_sha256 = chunks.manifest_sha256
            and turn_index.chunk_key = chunks.key
    left join chunk_lines
        on chunks.artifact_id = chunk_lines.artifact_id and turn_index.traj_line = chunk_lines.traj_line
    left join trajectories
        on chunk_lines.artifact_id = trajectories.artifact_id and chunk_lines.line = trajectories.line
    left join flat_places
        on
            manifests.used_manifest_sha256 = flat_places.manifest_sha256
            and turns.turn_id = flat_places.turn_id
            and flat_places.nth_shard = 1

),

int_turn_places as (

    select
        corpus_epoch,
        turn_id,
        used_manifest_sha256,
        manifest_found_by,
        case
            when schema_version = 1 then 'flat'
            when chunk_role = 'view_chunk' then 'view'
            else 'trajectory'
        end as layout,
        coalesce(flat_artifact_id, chunk_artifact_id) as artifact_id,
        coalesce(flat_line, chunk_line) as line,
        coalesce(flat_turn_idx, index_turn_idx) as turn_idx,
        msg_pos,
        node_id,
        -- A schema 3 index may name the rollout alone.
        coalesce(flat_traj_id, index_traj_id, split_traj_id, '') as traj_id,
        coalesce(flat_stratum, index_stratum) as stratum,
        coalesce(flat_source, index_source) as source,
        coalesce(flat_language, index_language) as language,
        coalesce(flat_phase, index_phase) as phase,
        coalesce(flat_n_prefix_chars, index_n_prefix_chars) as n_prefix_chars,
        case
            when manifest_fault is not null then manifest_fault
            when schema_version = 1 and flat_artifact_id is null then 'turn_not_in_shards'
            when schema_version = 1 then null
            when not has_index then 'index_absent'
            when index_fault is not null then 'index_' || index_fault
            when not is_indexed then 'turn_not_in_index'
            when chunk_role is null then 'chunk_not_active'
            when chunk_fault is not null then 'chunk_' || chunk_fault
            when chunk_line is null then 'index_row_past_its_chunk'
            when not has_trajectory then 'trajectory_quarantined'
            when chunk_role = 'chunk' and coalesce(trajectory_traj_id <> index_traj_id, true)
                then 'index_and_chunk_name_other_trajectories'
        end as fault
    from joined

)

select * from int_turn_places
