with generated_lines as (

    select * from {{ ref('int_generated_lines') }}

),

scoring_lines as (

    select * from {{ ref('int_scoring_lines') }}

),

judge_results as (

    select * from {{ ref('stg_sn97__judge_results') }}

),

sides_derived as (

    select * from {{ ref('int_sides_derived') }}

),

runs as (

    select * from {{ ref('int_duel_runs') }}

),

rulesets as (

    select * from {{ ref('rulesets') }}

),

sides as (

    select unnest(['king', 'challenger']) as side

),

generated as (

    select * from generated_lines
    where nth_line_of_id = 1

),

scoring as (

    select * from scoring_lines
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
    from judge_results
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

with_loops as (

    select
        by_side.*,
        runs.state as run_state,
        runs.ruleset_id,
        runs.era,
        case by_side.side when 'king' then runs.king_model else runs.challenger_model end as model,
        sides_derived.text_source,
        coalesce(sides_derived.n_turns, 0) as n_turns,
        coalesce(rulesets.loop_variant, 'v1') as loop_variant,
        case coalesce(rulesets.loop_variant, 'v1')
            when 'v1' then sides_derived.n_cmds_v1
            when 'v2' then sides_derived.n_cmds_v2
            else sides_derived.n_cmds_v3
        end as n_cmds,
        case coalesce(rulesets.loop_variant, 'v1')
            when 'v1' then sides_derived.n_distinct_cmds_v1
            when 'v2' then sides_derived.n_distinct_cmds_v2
            else sides_derived.n_distinct_cmds_v3
        end as n_distinct_cmds,
        case coalesce(rulesets.loop_variant, 'v1')
            when 'v1' then sides_derived.max_cmd_run_v1
            when 'v2' then sides_derived.max_cmd_run_v2
            else sides_derived.max_cmd_run_v3
        end as max_cmd_run,
        rulesets.dup_limit,
        rulesets.run_limit,
        rulesets.zeroes_truncated,
        rulesets.zeroes_abandoned,
        rulesets.zeroes_reserved,
        rulesets.amputated_multiplier,
        sides_derived.has_truncation_sentinel,
        sides_derived.has_abandonment_sentinel,
        sides_derived.reserved_token,
        sides_derived.n_judged_blocks,
        sides_derived.n_blocks_starting_with_close,
        judged.n_judges,
        judged.n_judges_parsed,
        judged.looped_stored,
        judged.corrupted_stored,
        judged.corruption_reason_stored
    from by_side
    left join runs on by_side.eval_run_id = runs.eval_run_id
    left join rulesets on runs.ruleset_id = rulesets.ruleset_id
    left join sides_derived
        on
            by_side.artifact_id = sides_derived.artifact_id
            and by_side.line = sides_derived.line
            and by_side.side = sides_derived.side
    left join judged
        on
            by_side.scoring_artifact_id = judged.artifact_id
            and by_side.scoring_line = judged.line
            and by_side.side = judged.side

),

int_duel_sides as (

    select
        side_id,
        eval_run_id,
        sample_id,
        rollout,
        side,
        artifact_id,
        line,
        scoring_artifact_id,
        scoring_line,
        source,
        shard,
        dataset_row,
        model,
        run_state,
        era,
        ruleset_id,
        coalesce(scored, false) as scored,
        -- No rule gives another number: what is none is not compared, averaged or trained on.
        case when stated_score between 0 and 1 then stated_score end as score,
        text_source,
        n_turns,
        loop_variant,
        n_cmds,
        -- Without commands nothing is a duplicate; without a generated line nothing is known.
        case when n_cmds = 0 then 0.0 else 1.0 - n_distinct_cmds / n_cmds end as dup_cmd_ratio,
        max_cmd_run,
        case
            when dup_limit is null or n_cmds is null then null
            else
                case when n_cmds = 0 then 0.0 else 1.0 - n_distinct_cmds / n_cmds end >= dup_limit
                or max_cmd_run >= run_limit
        end as looped,
        looped_stored,
        corrupted_stored,
        corruption_reason_stored,
        coalesce(looped_stored, false) or coalesce(corrupted_stored, false) as zeroed,
        case
            when zeroes_truncated and has_truncation_sentinel then 'output truncated mid-generation'
            when zeroes_abandoned and has_abandonment_sentinel
                then 'turn unusable after repeated attempts; the benchmark abandons here'
            when zeroes_reserved and reserved_token is not null
                then 'reserved template token in output: ' || reserved_token
        end as corruption_reason,
        amputated_stored,
        case
            when n_judged_blocks > 0 then n_blocks_starting_with_close / n_judged_blocks > 0.5
        end as amputated_thinking,
        amputated_multiplier,
        n_judges,
        n_judges_parsed,
        submit_command,
        phase,
        was_pruned,
        coalesce(generation_error, scoring_error) as error
    from with_loops

)

select * from int_duel_sides
