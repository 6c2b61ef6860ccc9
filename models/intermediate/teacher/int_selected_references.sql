with agreement as (

    select * from {{ ref('int_reference_agreement') }}

),

teacher_references as (

    select * from {{ ref('stg_sn120__teacher_references') }}

),

int_selected_references as (

    select
        agreement.corpus_epoch,
        agreement.turn_id,
        agreement.challenge_id,
        agreement.manifest_sha256,
        agreement.ref_index,
        agreement.artifact_id,
        agreement.line,
        teacher_references.thought,
        teacher_references.action
    from agreement
    inner join teacher_references
        on
            agreement.artifact_id = teacher_references.artifact_id
            and agreement.line = teacher_references.line
            and agreement.turn_id = teacher_references.turn_id
            and agreement.ref_index = teacher_references.reference_index

)

select * from int_selected_references
