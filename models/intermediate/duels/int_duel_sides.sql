with loops as (

    select * from {{ ref('int_side_loops') }}

),

sides as (

    select unnest(['king', 'challenger']) as side

),

generated as (

    select * from {{ ref('int_generated_lines') }}
    where nth_line_of_id = 1

),

scoring as (

    select * from {{ ref('int_scoring_lines') }}
    where rollout is not null

),

-- A scoring line without a generated sample stays, without turns.
samples as (

    select
        coalesce(generated.eval_run_id, scoring.eval_run_id) as eval_run_id,
        coalesce(generated.sample_id, scoring.sample_id) as sample_id,
        coalesce(generated.rollout, scoring.rollout) as rollout,
        coalesce(generated.dataset_source, scoring.dataset_source) as source,
        coalesce(generated.shard, scoring.shard) as shard,
        coalesce(generated.dataset_row, scoring.dataset_row) as dataset_row,
        generated.artifact_id,
        generated.line,
        generated.submit_command,
        generated.king_error,
        generated.challenger_error,
        scoring.artifact_id as scoring_artifact_id,
        scoring.line as scoring_line,
        scoring.scored,
        scoring.king_score,
        scoring.challenger_score,
        scoring.king_amputated_thinking,
        scoring.challenger_amputated_thinking,
        scoring.phase,
        scoring.was_pruned,
        scoring.error as scoring_error
    from generated
    full outer join scoring
        on
            generated.eval_run_id = scoring.eval_run_id
            and generated.sample_id = scoring.sample_id
            and generated.rollout = scoring.rollout

),

judged as (

    select
        artifact_id,
        line,
        side,
        count(*) as n_judges,
        count(*) filter (where parse_ok) as n_judges_parsed,
        coalesce(bool_or(looped), false) as looped_stored,
        coalesce(bool_or(corrupted), false) as corrupted_stored,
        min(corruption_reason) as corruption_reason_stored
    from {{ ref('stg_sn97__judge_results') }}
    where format = 'current'
    group by artifact_id, line, side

),

by_side as (

    select
        {{ duel_side_id('samples', 'sides.side') }} as side_id,
        samples.*,
        sides.side,
        case sides.side when 'king' then samples.king_score else samples.challenger_score end as stated_score,
        case sides.side
            when 'king' then samples.king_amputated_thinking
            else samples.challenger_amputated_thinking
        end as amputated_stored,
        case sides.side when 'king' then samples.king_error else samples.challenger_error end as generation_error
    from samples
    cross join sides

),

int_duel_sides as (

    select
        by_side.side_id,
        by_side.eval_run_id,
        by_side.sample_id,
        by_side.rollout,
        by_side.side,
        by_side.artifact_id,
        by_side.line,
        by_side.scoring_artifact_id,
        by_side.scoring_line,
        by_side.source,
        by_side.shard,
        by_side.dataset_row,
        -- A sample id names a row of a data set; where that shard was landed, its row says which task it is.
        coalesce(
            mini_trajectories.instance_id,
            by_side.shard || ':' || cast(by_side.dataset_row as varchar),
            by_side.sample_id
        ) as instance_id,
        case by_side.side when 'king' then runs.king_model else runs.challenger_model end as model,
        runs.state as run_state,
        runs.era,
        runs.ruleset_id,
        coalesce(by_side.scored, false) as scored,
        -- No rule gives another number: one outside 0 to 1 is not compared, averaged or trained on.
        case when by_side.stated_score between 0 and 1 then by_side.stated_score end as score,
        sides_derived.text_source,
        coalesce(sides_derived.n_turns, 0) as n_turns,
        coalesce(rulesets.loop_variant, 'v1') as loop_variant,
        loops.n_cmds,
        loops.dup_cmd_ratio,
        loops.max_cmd_run,
        loops.looped,
        judged.looped_stored,
        judged.corrupted_stored,
        judged.corruption_reason_stored,
        coalesce(judged.looped_stored, false) or coalesce(judged.corrupted_stored, false) as zeroed,
        loops.corruption_reason,
        by_side.amputated_stored,
        {{ amputated_thinking('sides_derived.n_blocks_starting_with_close', 'sides_derived.n_judged_blocks') }}
            as amputated_thinking,
        rulesets.amputated_multiplier,
        judged.n_judges,
        judged.n_judges_parsed,
        by_side.submit_command,
        by_side.phase,
        by_side.was_pruned,
        coalesce(by_side.generation_error, by_side.scoring_error) as error
    from by_side
    left join {{ ref('int_duel_runs') }} as runs on by_side.eval_run_id = runs.eval_run_id
    left join {{ ref('rulesets') }} as rulesets on runs.ruleset_id = rulesets.ruleset_id
    left join {{ ref('int_sides_derived') }} as sides_derived on by_side.side_id = sides_derived.side_id
    left join loops
        on by_side.side_id = loops.side_id and runs.ruleset_id is not distinct from loops.ruleset_id
    left join judged
        on
            by_side.scoring_artifact_id = judged.artifact_id
            and by_side.scoring_line = judged.line
            and by_side.side = judged.side
    left join {{ ref('stg_trajectories__trajectories') }} as mini_trajectories
        on
            by_side.source = 'mini-coder'
            and mini_trajectories.source = 'mini_coder'
            and replace(by_side.shard, 'mini-coder/', 'mini_coder/') = mini_trajectories.artifact_id
            and by_side.dataset_row + 1 = mini_trajectories.line

)

select * from int_duel_sides
