with sides as (

    select * from {{ ref('int_duel_sides') }}

),

loops as (

    select * from {{ ref('int_side_loops') }}

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
        sides.side_id,
        sides.eval_run_id,
        sides.sample_id,
        sides.rollout,
        sides.side,
        sides.run_state,
        sides.scored,
        sides.zeroed,
        sides.score as stored_score,
        coalesce(sides.amputated_stored, sides.amputated_thinking, false) as is_amputated,
        rulesets.ruleset_id,
        coalesce(rulesets.ruleset_id = runs.own_ruleset_id, false) as is_own,
        coalesce(rulesets.loop_variant, 'v1') as loop_variant,
        rulesets.loop_zeroes,
        rulesets.amputated_multiplier,
        rulesets.margin as required_margin,
        rulesets.min_valid_fraction,
        case
            when rulesets.ruleset_id = runs.own_ruleset_id then run_weights.tag_weights_id
            else rulesets.tag_weights_id
        end as tag_weights_id
    from sides
    inner join runs on sides.eval_run_id = runs.eval_run_id
    left join run_weights on sides.eval_run_id = run_weights.eval_run_id
    cross join rulesets

),

judged as (

    select
        compared.*,
        loops.n_cmds,
        loops.dup_cmd_ratio,
        loops.max_cmd_run,
        loops.looped,
        loops.corruption_reason,
        loops.corruption_reason is not null or (compared.loop_zeroes and coalesce(loops.looped, false)) as is_zeroed,
        side_scores.response_score
    from compared
    left join loops on compared.side_id = loops.side_id and compared.ruleset_id = loops.ruleset_id
    left join side_scores
        on compared.side_id = side_scores.side_id and compared.tag_weights_id = side_scores.tag_weights_id

),

scored as (

    select
        *,
        case
            when not scored then null
            when is_zeroed then 0.0
            when zeroed then case when is_own then 0.0 end
            else {{ amputated_score('response_score', 'is_amputated', 'amputated_multiplier') }}
        end as score,
        case
            when not scored then 'not scored'
            when is_zeroed then 'zeroed'
            when zeroed and is_own then 'zeroed, as stored'
            when zeroed then 'not judged: the run zeroed the side'
            when tag_weights_id is null then 'no question weights in this ruleset'
            when response_score is null then 'no question was answered'
        end as score_reason
    from judged

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
        scored.side_id,
        scored.eval_run_id,
        scored.sample_id,
        scored.rollout,
        scored.side,
        scored.ruleset_id,
        scored.is_own,
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
