-- Selection asked the other way round: no pooled reference with the modal token is better, or as good and earlier.
select
    agreement.corpus_epoch,
    agreement.turn_id,
    pool.challenge_id,
    pool.ref_index
from {{ ref('reference_agreement') }} as agreement
inner join {{ ref('int_pooled_references') }} as pool
    on
        agreement.corpus_epoch is not distinct from pool.corpus_epoch
        and agreement.turn_id = pool.turn_id
        and agreement.modal_token = pool.first_token
        and pool.in_pool
where
    pool.teacher_lift > agreement.teacher_lift
    or (pool.teacher_lift = agreement.teacher_lift and pool.pool_order < agreement.selected_pool_order)
    or (pool.teacher_lift is not null and agreement.teacher_lift is null)
