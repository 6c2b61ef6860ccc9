-- Under the version a record was judged by, with the very parameters it states, the what-if says what the replay says.
select
    scores.challenge_id,
    scores.manifest_sha256,
    what_if.version
from {{ ref('duel_scores') }} as scores
inner join {{ ref('duel_what_if') }} as what_if
    on
        scores.challenge_id = what_if.challenge_id
        and scores.manifest_sha256 is not distinct from what_if.manifest_sha256
        and what_if.is_own_version
inner join {{ ref('teacher_duel_rules') }} as rules on what_if.version = rules.version
where
    scores.verdict = 'replayed'
    and scores.tau is not distinct from rules.tau
    and scores.k_sigma = rules.k_sigma
    and scores.min_margin = rules.min_margin
    and scores.min_thought_chars = rules.min_thought_chars
    and scores.causality_gamma = rules.causality_gamma
    and (
        scores.challenger_wins is distinct from what_if.challenger_wins
        or scores.rejection_reason is distinct from what_if.rejection_reason
        or scores.margin is distinct from what_if.margin
    )
