with turns as (

    select * from {{ ref('int_reference_agreement') }}

),

manifests as (

    select * from {{ ref('int_corpus_manifests') }}

),

corpus_files as (

    select * from {{ ref('int_corpus_files') }}

),

turn_index as (

    select * from {{ ref('stg_sn120__turn_index') }}
    qualify row_number() over (partition by artifact_id, turn_id order by line) = 1

),

-- One row a key, also where a manifest lists it with two formats; that is a fault of both.
chunks as (

    select * from corpus_files
    where role in ('chunk', 'view_chunk')
    qualify row_number() over (partition by manifest_sha256, key order by role) = 1

),

-- `traj_line` counts the lines that are not blank from 0, those that were refused included.
chunk_lines as (

    select
        artifact_id,
        line,
        max(traj_id) as traj_id,
        bool_or(is_read) as is_read,
        row_number() over (partition by artifact_id order by line) - 1 as traj_line
    from (
        select
            artifact_id,
            line,
            traj_id,
            true as is_read
        from {{ ref('stg_sn120__trajectories') }}
        union all
        select
            artifact_id,
            line,
            null as traj_id,
            false as is_read
        from {{ ref('quarantine') }}
    )
    group by artifact_id, line

),

flat_turns as (

    select
        shards.manifest_sha256,
        flat.*,
        flat.traj_id || ':' || flat.turn_idx as turn_id
    from corpus_files as shards
    inner join {{ ref('stg_sn120__flat_turns') }} as flat on shards.artifact_id = flat.artifact_id
    where shards.role = 'shard' and shards.fault is null
    qualify row_number() over (
        partition by shards.manifest_sha256, flat.traj_id, flat.turn_idx order by shards.key, flat.line
    ) = 1

),

int_turn_places as (

    select
        turns.corpus_epoch,
        turns.turn_id,
        manifests.used_manifest_sha256,
        manifests.found_by as manifest_found_by,
        case
            when manifests.schema_version = 1 then 'flat'
            when chunks.role = 'view_chunk' then 'view'
            else 'trajectory'
        end as layout,
        coalesce(flat_turns.artifact_id, chunks.artifact_id) as artifact_id,
        coalesce(flat_turns.line, chunk_lines.line) as line,
        coalesce(flat_turns.turn_idx, turn_index.turn_idx) as turn_idx,
        turn_index.msg_pos,
        turn_index.node_id,
        -- A schema 3 index may name the rollout alone.
        coalesce(flat_turns.traj_id, turn_index.traj_id, turns.traj_id, '') as traj_id,
        {%- for column in ['stratum', 'source', 'language', 'phase', 'n_prefix_chars'] %}
        coalesce(flat_turns.{{ column }}, turn_index.{{ column }}) as {{ column }},
        {%- endfor %}
        case
            when manifests.fault is not null then manifests.fault
            when manifests.schema_version = 1 and flat_turns.artifact_id is null then 'turn_not_in_shards'
            when manifests.schema_version = 1 then null
            when indexes.role is null then 'index_absent'
            when indexes.fault is not null then 'index_' || indexes.fault
            when turn_index.turn_id is null then 'turn_not_in_index'
            when chunks.role is null then 'chunk_not_active'
            when chunks.fault is not null then 'chunk_' || chunks.fault
            when chunk_lines.line is null then 'index_row_past_its_chunk'
            when not chunk_lines.is_read then 'trajectory_quarantined'
            when chunks.role = 'chunk' and coalesce(chunk_lines.traj_id <> turn_index.traj_id, true)
                then 'index_and_chunk_name_other_trajectories'
        end as fault
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
    left join chunks
        on
            manifests.used_manifest_sha256 = chunks.manifest_sha256
            and turn_index.chunk_key = chunks.key
    left join chunk_lines
        on chunks.artifact_id = chunk_lines.artifact_id and turn_index.traj_line = chunk_lines.traj_line
    left join flat_turns
        on
            manifests.used_manifest_sha256 = flat_turns.manifest_sha256
            and turns.turn_id = flat_turns.turn_id

)

select * from int_turn_places
