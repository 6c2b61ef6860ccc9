with duels as (

    select * from {{ ref('int_duel_replays') }}

),

duel_scores as (

    select
        challenge_id,
        manifest_sha256,
        corpus_epoch,
        published_at,
        rule_family,
        rule_version,
        k_sigma,
        tau,
        min_margin,
        min_thought_chars,
        causality_gamma,
        n_paired_turns,
        published_n_paired_turns,
        margin,
        published_margin,
        se,
        published_se,
        z,
        published_z,
        median_thought_chars,
        causality_pass_rate,
        rejection_reason,
        published_rejection_reason,
        challenger_wins,
        published_challenger_wins,
        verdict,
        unknown_reason,
        margin - published_margin as margin_difference,
        se - published_se as se_difference,
        z - published_z as z_difference,
        n_king_thoughts,
        king_common_ending,
        king_common_ending_share,
        n_challenger_thoughts,
        challenger_common_ending,
        challenger_common_ending_share,
        artifact_id,
        line
    from duels

)

select * from duel_scores
order by corpus_epoch, challenge_id, manifest_sha256
