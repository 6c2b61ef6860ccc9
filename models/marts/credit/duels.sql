with runs as (

    select * from {{ ref('int_duel_runs') }}

),

rulesets as (

    select * from {{ ref('rulesets') }}

),

run_weights as (

    select * from {{ ref('int_run_weights') }}

),

margins as (

    select * from {{ ref('int_duel_margins') }}

),

sides as (

    select * from {{ ref('int_duel_sides') }}

),

-- Samples, not lines: a second scoring line for one key is listed elsewhere.
scored_samples as (

    select
        eval_run_id,
        count(*) as n_scored
    from sides
    where side = 'king' and scored
    group by eval_run_id

),

-- A challenger is crowned after enough winning runs of its submission; without a submission id a run stands alone.
wins as (

    select
        eval_run_id,
        count(*) filter (where challenger_won and state = 'succeeded') over (
            partition by coalesce(submission_id, eval_run_id)
            order by finished_at asc nulls last, eval_run_id asc
            rows between unbounded preceding and current row
        ) as n_wins
    from runs

),

duels as (

    select
        runs.eval_run_id,
        runs.submission_id,
        runs.finished_at,
        runs.king_model,
        runs.challenger_model,
        runs.king_model = runs.challenger_model as is_same_model,
        runs.score_king,
        runs.score_challenger,
        case
            when isfinite(runs.score_challenger - runs.score_king) then runs.score_challenger - runs.score_king
        end as margin,
        coalesce(runs.required_win_margin, rulesets.margin) as required_margin,
        runs.challenger_won,
        runs.state,
        runs.state = 'succeeded' as is_counted,
        runs.fault_class,
        runs.fault_code,
        runs.fault_message,
        runs.scoring_mode,
        runs.era,
        runs.own_ruleset_id,
        runs.ruleset_id,
        run_weights.tag_weights_id,
        runs.n_requested,
        runs.n_samples,
        runs.n_scoring_lines,
        coalesce(scored_samples.n_scored, 0) as n_scored,
        coalesce(margins.n_pairs, 0) as n_pairs,
        coalesce(margins.n_paired_samples, 0) as n_paired_samples,
        coalesce(margins.n_task_instances, 0) as n_task_instances,
        margins.margin_mean,
        margins.margin_sd,
        margins.margin_within_variance,
        margins.margin_se,
        margins.margin_lo,
        margins.margin_hi,
        margins.p_beats_margin,
        margins.p_enough_wins,
        margins.n_needed_half_width,
        margins.n_needed_power_80,
        rulesets.wins_needed,
        wins.n_wins,
        wins.n_wins >= rulesets.wins_needed as has_enough_wins,
        runs.coronated
    from runs
    inner join wins on runs.eval_run_id = wins.eval_run_id
    left join rulesets on runs.ruleset_id = rulesets.ruleset_id
    left join run_weights on runs.eval_run_id = run_weights.eval_run_id
    left join scored_samples on runs.eval_run_id = scored_samples.eval_run_id
    left join margins on runs.eval_run_id = margins.eval_run_id

)

select * from duels
