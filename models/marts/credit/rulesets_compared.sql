with duel_sides as (

    select * from {{ ref('int_duel_sides') }}

),

sides_derived as (

    select * from {{ ref('int_sides_derived') }}

),

side_scores as (

    select * from {{ ref('int_side_scores') }}

),

runs as (

    select * from {{ ref('int_duel_runs') }}

),

run_weights as (

    select * from {{ ref('int_run_weights') }}

),

rulesets as (

    select * from {{ ref('rulesets') }}

),

-- A run's own ruleset weighs the questions as the run did, stamps included.
compared as (

    select
        duel_sides.eval_run_id,
        duel_sides.sample_id,
        duel_sides.rollout,
        duel_sides.side,
        duel_sides.artifact_id,
        duel_sides.line,
        duel_sides.run_state,
        duel_sides.scored,
        duel_sides.zeroed,
        duel_sides.score as stored_score,
        coalesce(duel_sides.amputated_stored, duel_sides.amputated_thinking, false) as is_amputated,
        rulesets.ruleset_id,
        rulesets.ruleset_id = runs.own_ruleset_id as is_own,
        coalesce(rulesets.loop_variant, 'v1') as loop_variant,
        rulesets.dup_limit,
        rulesets.run_limit,
        rulesets.loop_zeroes,
        rulesets.zeroes_truncated,
        rulesets.zeroes_abandoned,
        rulesets.zeroes_reserved,
        rulesets.amputated_multiplier,
        rulesets.margin as required_margin,
        rulesets.min_valid_fraction,
        case
            when rulesets.ruleset_id = runs.own_ruleset_id then run_weights.tag_weights_id
            else rulesets.tag_weights_id
        end as tag_weights_id
    from duel_sides
    inner join runs on duel_sides.eval_run_id = runs.eval_run_id
    left join run_weights on duel_sides.eval_run_id = run_weights.eval_run_id
    cross join rulesets

),

counted as (

    select
        compared.*,
        case compared.loop_variant
            when 'v1' then sides_derived.n_cmds_v1
            when 'v2' then sides_derived.n_cmds_v2
            else sides_derived.n_cmds_v3
        end as n_cmds,
        case compared.loop_variant
            when 'v1' then sides_derived.n_distinct_cmds_v1
            when 'v2' then sides_derived.n_distinct_cmds_v2
            else sides_derived.n_distinct_cmds_v3
        end as n_distinct_cmds,
        case compared.loop_variant
            when 'v1' then sides_derived.max_cmd_run_v1
            when 'v2' then sides_derived.max_cmd_run_v2
            else sides_derived.max_cmd_run_v3
        end as max_cmd_run,
        case
            when compared.zeroes_truncated and sides_derived.has_truncation_sentinel
                then 'output truncated mid-generation'
            when compared.zeroes_abandoned and sides_derived.has_abandonment_sentinel
                then 'turn unusable after repeated attempts; the benchmark abandons here'
            when compared.zeroes_reserved and sides_derived.reserved_token is not null
                then 'reserved template token in output: ' || sides_derived.reserved_token
        end as corruption_reason,
        side_scores.response_score
    from compared
    left join sides_derived
        on
            compared.artifact_id = sides_derived.artifact_id
            and compared.line = sides_derived.line
            and compared.side = sides_derived.side
    left join side_scores
        on
            compared.eval_run_id = side_scores.eval_run_id
            and compared.sample_id = side_scores.sample_id
            and compared.rollout = side_scores.rollout
            and compared.side = side_scores.side
            and compared.tag_weights_id = side_scores.tag_weights_id

),

checked as (

    select
        *,
        case when n_cmds = 0 then 0.0 else 1.0 - n_distinct_cmds / n_cmds end as dup_cmd_ratio,
        case
            when dup_limit is null or n_cmds is null then null
            else
                case when n_cmds = 0 then 0.0 else 1.0 - n_distinct_cmds / n_cmds end >= dup_limit
                or max_cmd_run >= run_limit
        end as looped
    from counted

),

scored as (

    select
        *,
        case
            when not scored then null
            when corruption_reason is not null or (loop_zeroes and coalesce(looped, false)) then 0.0
            when zeroed then case when is_own then 0.0 end
            when is_amputated then {{ round_like_python('response_score * amputated_multiplier', 6) }}
            else response_score
        end as score,
        case
            when not scored then 'not scored'
            when corruption_reason is not null or (loop_zeroes and coalesce(looped, false)) then 'zeroed'
            when zeroed and is_own then 'zeroed, as stored'
            when zeroed then 'not judged: the run zeroed the side'
            when tag_weights_id is null then 'no question weights in this ruleset'
            when response_score is null then 'no question was answered'
        end as score_reason
    from checked

),

pairs as (

    select
        eval_run_id,
        ruleset_id,
        sample_id,
        rollout,
        min(required_margin) as required_margin,
        min(min_valid_fraction) as min_valid_fraction,
        max(score) filter (where side = 'king') as score_king,
        max(score) filter (where side = 'challenger') as score_challenger
    from scored
    where scored and run_state = 'succeeded'
    group by eval_run_id, ruleset_id, sample_id, rollout

),

duel_means as (

    select
        eval_run_id,
        ruleset_id,
        min(required_margin) as required_margin,
        min(min_valid_fraction) as min_valid_fraction,
        count(*) as n_lines,
        count(score_king + score_challenger) as n_pairs,
        fsum(score_king order by sample_id, rollout) filter (where score_challenger is not null)
        / nullif(count(score_king + score_challenger), 0) as mean_king,
        fsum(score_challenger order by sample_id, rollout) filter (where score_king is not null)
        / nullif(count(score_king + score_challenger), 0) as mean_challenger
    from pairs
    group by eval_run_id, ruleset_id

),

duel_rounded as (

    select
        eval_run_id,
        ruleset_id,
        required_margin,
        n_pairs,
        n_pairs >= min_valid_fraction * n_lines as has_enough_pairs,
        {{ round_like_python('mean_king', 6) }} as score_king,
        {{ round_like_python('mean_challenger', 6) }} as score_challenger
    from duel_means

),

rulesets_compared as (

    select
        scored.eval_run_id,
        scored.sample_id,
        scored.rollout,
        scored.side,
        scored.ruleset_id,
        coalesce(scored.is_own, false) as is_own,
        scored.loop_variant,
        scored.n_cmds,
        scored.dup_cmd_ratio,
        scored.max_cmd_run,
        scored.looped,
        scored.corruption_reason is not null as corrupted,
        scored.corruption_reason,
        scored.tag_weights_id,
        scored.score,
        scored.score_reason,
        scored.stored_score,
        scored.score - scored.stored_score as score_change,
        duel_rounded.n_pairs as duel_n_pairs,
        duel_rounded.score_king as duel_score_king,
        duel_rounded.score_challenger as duel_score_challenger,
        duel_rounded.score_challenger - duel_rounded.score_king as duel_margin,
        -- In binary floating point, as the validator compares; null where too few pairs can be scored by these rules.
        case
            when duel_rounded.has_enough_pairs
                then duel_rounded.score_challenger - duel_rounded.score_king >= duel_rounded.required_margin
        end as duel_challenger_wins
    from scored
    left join duel_rounded
        on
            scored.eval_run_id = duel_rounded.eval_run_id
            and scored.ruleset_id = duel_rounded.ruleset_id

)

select * from rulesets_compared
