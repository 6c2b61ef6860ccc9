with reference_agreement as (

    select
        corpus_epoch,
        turn_id,
        traj_id,
        n_pool_refs,
        n_published_refs,
        n_distinct_refs,
        n_other_dialect_refs,
        n_duels,
        modal_token,
        modal_share,
        modal_action_share,
        modal_norm_share,
        n_distinct_actions,
        n_distinct_commands,
        is_vacuous,
        challenge_id,
        manifest_sha256,
        ref_index,
        selected_pool_order,
        artifact_id,
        published_at,
        teacher_lift
    from {{ ref('int_reference_agreement') }}

)

select * from reference_agreement
order by corpus_epoch, turn_id
