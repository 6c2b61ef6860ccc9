-- Equal actions have equal tokens and equal normalised commands, so their share is never the larger one.
select
    corpus_epoch,
    turn_id
from {{ ref('reference_agreement') }}
where
    modal_share < modal_action_share
    or modal_norm_share < modal_action_share
    or n_distinct_commands > n_distinct_actions
    or (is_vacuous and modal_share <> 1)
    or n_pool_refs > n_published_refs
