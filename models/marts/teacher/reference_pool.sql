with pooled as (

    select * from {{ ref('int_pooled_references') }}

),

-- The text stays in its one home; a view looks it up.
texts as (

    select
        artifact_id,
        line,
        turn_id,
        reference_index,
        thought,
        action
    from {{ ref('stg_sn120__teacher_references') }}

),

reference_pool as (

    select
        pooled.corpus_epoch,
        pooled.challenge_id,
        pooled.manifest_sha256,
        pooled.turn_id,
        pooled.ref_index,
        pooled.traj_id,
        pooled.challenge_number,
        pooled.published_at,
        pooled.pool_order,
        texts.thought,
        texts.action,
        pooled.lp_own,
        pooled.lp_empty,
        pooled.teacher_lift,
        pooled.dialect,
        pooled.first_token,
        pooled.is_recurrence,
        pooled.in_pool,
        pooled.artifact_id,
        pooled.line
    from pooled
    left join texts
        on
            pooled.artifact_id = texts.artifact_id
            and pooled.line = texts.line
            and pooled.turn_id = texts.turn_id
            and pooled.ref_index = texts.reference_index

)

select * from reference_pool
