-- The score recomputed from answers and weights is the stored one on every scored side, or the side says why not.
-- `differs from the stored score` is no excuse: it is what must not happen.
select
    eval_run_id,
    sample_id,
    rollout,
    side,
    score,
    score_recomputed,
    score_reason
from {{ ref('sides') }}
where
    scored
    and not coalesce(is_score_reproduced, false)
    and coalesce(score_reason, 'differs from the stored score') = 'differs from the stored score'
