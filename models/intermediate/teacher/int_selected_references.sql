with agreement as (

    select * from {{ ref('reference_agreement') }}

),

pooled as (

    select * from {{ ref('int_pooled_references') }}

),

teacher_references as (

    select
        artifact_id,
        line,
        turn_id,
        reference_index,
        thought,
        action
    from {{ ref('stg_sn120__teacher_references') }}

),

int_selected_references as (

    select
        agreement.corpus_epoch,
        agreement.turn_id,
        agreement.challenge_id,
        agreement.manifest_sha256,
        agreement.ref_index,
        pooled.artifact_id,
        pooled.line,
        teacher_references.thought,
        teacher_references.action
    from agreement
    inner join pooled
        on
            agreement.corpus_epoch is not distinct from pooled.corpus_epoch
            and agreement.turn_id = pooled.turn_id
            and agreement.selected_pool_order = pooled.pool_order
    inner join teacher_references
        on
            pooled.artifact_id = teacher_references.artifact_id
            and pooled.line = teacher_references.line
            and pooled.turn_id = teacher_references.turn_id
            and pooled.ref_index = teacher_references.reference_index

)

select * from int_selected_references
