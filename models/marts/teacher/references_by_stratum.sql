with agreement as (

    select * from {{ ref('reference_agreement') }}

),

manifests as (

    select distinct
        corpus_epoch,
        used_manifest_sha256
    from {{ ref('int_corpus_manifests') }}
    where used_manifest_sha256 is not null

),

indexes as (

    select
        manifest_sha256,
        artifact_id
    from {{ ref('int_corpus_files') }}
    where role = 'index' and fault is null

),

-- Every turn the slicer could have drawn, whether a duel drew it or not.
index_turns as (

    select
        manifests.corpus_epoch,
        turn_index.turn_id,
        min(turn_index.stratum) as stratum
    from manifests
    inner join indexes on manifests.used_manifest_sha256 = indexes.manifest_sha256
    inner join {{ ref('stg_sn120__turn_index') }} as turn_index on indexes.artifact_id = turn_index.artifact_id
    group by manifests.corpus_epoch, turn_index.turn_id

),

counted as (

    select
        index_turns.corpus_epoch,
        index_turns.stratum,
        count(*) as n_index_turns,
        count(agreement.turn_id) as n_pooled_turns,
        cast(coalesce(sum(agreement.n_pool_refs), 0) as bigint) as n_refs
    from index_turns
    left join agreement
        on
            index_turns.corpus_epoch is not distinct from agreement.corpus_epoch
            and index_turns.turn_id = agreement.turn_id
    group by index_turns.corpus_epoch, index_turns.stratum

),

references_by_stratum as (

    select
        corpus_epoch,
        stratum,
        n_index_turns,
        n_pooled_turns,
        n_refs,
        {{ safe_div('n_pooled_turns', 'n_index_turns') }} as drawn_share,
        {{ safe_div('n_refs', 'n_index_turns') }} as refs_per_turn,
        {{ safe_div('n_refs', 'n_index_turns') }}
        / nullif({{ safe_div('sum(n_refs) over epoch', 'sum(n_index_turns) over epoch') }}, 0) as selection_weight
    from counted
    window epoch as (partition by corpus_epoch)

)

select * from references_by_stratum
order by corpus_epoch, stratum
