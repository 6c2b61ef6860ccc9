-- The variant decides how commands are taken; the two flags say the same for a reader, and may not say otherwise.
select
    ruleset_id,
    loop_variant,
    excludes_submissions,
    unanswered_rule,
    dup_limit,
    run_limit
from {{ ref('rulesets') }}
where
    excludes_submissions <> coalesce(loop_variant = 'v3', false)
    or unanswered_rule <> coalesce(loop_variant = 'v3', false)
    or (loop_variant is null) <> (dup_limit is null)
    or (loop_variant is null) <> (run_limit is null)
