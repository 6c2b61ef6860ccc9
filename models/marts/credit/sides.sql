with duel_sides as (

    select * from {{ ref('int_duel_sides') }}

),

side_scores as (

    select * from {{ ref('int_side_scores') }}

),

run_weights as (

    select * from {{ ref('int_run_weights') }}

),

answers as (

    select * from {{ ref('answers') }}

),

own_scores as (

    select side_scores.*
    from side_scores
    inner join run_weights
        on
            side_scores.eval_run_id = run_weights.eval_run_id
            and side_scores.tag_weights_id = run_weights.tag_weights_id

),

weights_earned as (

    select
        side_id,
        count(distinct question_id) as n_questions,
        {{ exact_sum('earned_weight') }} as earned_weight,
        {{ exact_sum('earned_weight', 'n_cited_valid = 0') }} as uncited_weight,
        {{ exact_sum('earned_weight', 'n_cited_valid = 0 and n_cited > 0') }} as dangling_weight,
        {{ exact_sum('earned_weight', 'n_cited_extended_valid = 0') }} as uncited_weight_extended
    from answers
    group by side_id

),

described as (

    select
        duel_sides.*,
        duel_sides.scored and duel_sides.run_state = 'succeeded' as is_counted,
        own_scores.score as score_recomputed,
        coalesce(weights_earned.n_questions, 0) as n_questions,
        coalesce(weights_earned.earned_weight, 0.0) as earned_weight,
        coalesce(weights_earned.uncited_weight, 0.0) as uncited_weight,
        coalesce(weights_earned.dangling_weight, 0.0) as dangling_weight,
        coalesce(weights_earned.uncited_weight_extended, 0.0) as uncited_weight_extended
    from duel_sides
    left join own_scores on duel_sides.side_id = own_scores.side_id
    left join weights_earned on duel_sides.side_id = weights_earned.side_id

),

sides as (

    select
        side_id,
        eval_run_id,
        sample_id,
        rollout,
        side,
        source,
        phase,
        shard,
        dataset_row,
        instance_id,
        model,
        run_state,
        era,
        ruleset_id,
        scored,
        is_counted,
        score,
        score_recomputed,
        -- Both are rounded to 6 decimals; on a tie a different order of a sum moves the last one by one.
        abs(score_recomputed - score) < 1.5e-6 as is_score_reproduced,
        case
            when abs(score_recomputed - score) < 1.5e-6 then null
            when scoring_line is null then 'no scoring line'
            when coalesce(n_judges, 0) = 0 then 'no judge record'
            when n_questions = 0 then 'no questions'
            when score_recomputed is null then 'no question was answered'
            when score is null then 'no stored score between 0 and 1'
            when not scored then 'not scored'
            when era in ('V1', 'V2', 'V3', 'V4') and not was_pruned
                then 'a gate of the judge may have changed answers: its questions were not pruned'
            else 'differs from the stored score'
        end as score_reason,
        text_source,
        n_turns,
        n_questions,
        n_judges,
        loop_variant,
        n_cmds,
        dup_cmd_ratio,
        max_cmd_run,
        looped,
        looped_stored,
        coalesce(corrupted_stored, false) or corruption_reason is not null as corrupted,
        corrupted_stored,
        corruption_reason,
        corruption_reason_stored,
        zeroed,
        amputated_thinking,
        amputated_stored,
        earned_weight,
        uncited_weight,
        dangling_weight,
        uncited_weight_extended,
        error,
        artifact_id,
        line,
        scoring_artifact_id,
        scoring_line
    from described

)

select * from sides
