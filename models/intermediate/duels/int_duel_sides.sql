with generated_samples as (

    select * from {{ ref('stg_sn97__generated_samples') }}

),

scoring_results as (

    select * from {{ ref('stg_sn97__scoring_results') }}

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

-- A second line for the same published id is kept apart: it has no rollout of its own to be.
generated_ranked as (

    select
        *,
        row_number() over (partition by eval_run_id, sample_id order by artifact_id, line) as nth_line_of_id
    from generated_samples

),

generated as (

    select
        *,
        coalesce(rollout_suffix, 1) as rollout,
        king_error is null
        and challenger_error is null
        and (n_king_messages is not null or coalesce(king_output, '') <> '')
        and (n_challenger_messages is not null or coalesce(challenger_output, '') <> '') as generated_both
    from generated_ranked
    where nth_line_of_id = 1

),

-- The k-th scoring line of a base id belongs to the k-th of its rollouts that generated both sides.
generated_numbered as (

    select
        *,
        case
            when generated_both then row_number() over (
                partition by eval_run_id, base_sample_id, generated_both
                order by rollout, artifact_id, line
            )
        end as nth_scored
    from generated

),

scoring_numbered as (

    select
        *,
        row_number() over (partition by eval_run_id, base_sample_id order by artifact_id, line) as nth_scored
    from scoring_results

),

-- A scoring line without a generated sample stays, without turns; its rollout is its place among the lines.
samples as (

    select
        coalesce(generated_numbered.eval_run_id, scoring_numbered.eval_run_id) as eval_run_id,
        coalesce(generated_numbered.base_sample_id, scoring_numbered.base_sample_id) as sample_id,
        coalesce(generated_numbered.rollout, scoring_numbered.nth_scored) as rollout,
        coalesce(generated_numbered.dataset_source, scoring_numbered.dataset_source) as source,
        coalesce(generated_numbered.shard, scoring_numbered.shard) as shard,
        coalesce(generated_numbered.dataset_row, scoring_numbered.dataset_row) as dataset_row,
        generated_numbered.artifact_id,
        generated_numbered.line,
        generated_numbered.generated_both,
        generated_numbered.submit_command,
        generated_numbered.king_error,
        generated_numbered.challenger_error,
        scoring_numbered.artifact_id as scoring_artifact_id,
        scoring_numbered.line as scoring_line,
        scoring_numbered.scored,
        scoring_numbered.king_score,
        scoring_numbered.challenger_score,
        scoring_numbered.king_amputated_thinking,
        scoring_numbered.challenger_amputated_thinking,
        scoring_numbered.question_source ->> '$.sample_phase' as phase,
        scoring_numbered.error as scoring_error,
        -- Only a rollout that generated both sides can stand behind a scoring line.
        row_number() over (
            partition by
                coalesce(generated_numbered.eval_run_id, scoring_numbered.eval_run_id),
                coalesce(generated_numbered.base_sample_id, scoring_numbered.base_sample_id),
                coalesce(generated_numbered.rollout, scoring_numbered.nth_scored)
            order by generated_numbered.line is null, scoring_numbered.line
        ) as nth_of_key
    from generated_numbered
    full outer join scoring_numbered
        on
            generated_numbered.eval_run_id = scoring_numbered.eval_run_id
            and generated_numbered.base_sample_id = scoring_numbered.base_sample_id
            and generated_numbered.nth_scored = scoring_numbered.nth_scored

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
        min(corruption_reason) as corruption_reason_stored,
        fsum(yes_rate order by judge_index) / nullif(count(yes_rate), 0) as mean_yes_rate
    from judge_results
    group by artifact_id, line, side

),

by_side as (

    select
        samples.*,
        sides.side,
        case sides.side when 'king' then samples.king_score else samples.challenger_score end as score,
        case sides.side
            when 'king' then samples.king_amputated_thinking
            else samples.challenger_amputated_thinking
        end as amputated_stored,
        case sides.side when 'king' then samples.king_error else samples.challenger_error end as generation_error
    from samples
    cross join sides
    where samples.nth_of_key = 1

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
        score,
        text_source,
        n_turns,
        loop_variant,
        n_cmds,
        -- Without commands nothing is a duplicate; without text nothing is known.
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
        coalesce(generation_error, scoring_error) as error
    from with_loops

)

select * from int_duel_sides
