with scoring_results as (

    select * from {{ ref('stg_sn97__scoring_results') }}

),

generated_lines as (

    select * from {{ ref('int_generated_lines') }}

),

counted as (

    select
        eval_run_id,
        base_sample_id as sample_id,
        sample_id as published_sample_id,
        artifact_id,
        line,
        dataset_source,
        shard,
        dataset_row,
        scored,
        scoring_mode,
        king_score,
        challenger_score,
        king_amputated_thinking,
        challenger_amputated_thinking,
        question_source ->> '$.sample_phase' as phase,
        coalesce(json_exists(question_source, '$.pruned_out'), false) as was_pruned,
        error,
        row_number() over (partition by eval_run_id, base_sample_id order by artifact_id, line) as nth_line_of_id
    from scoring_results

),

generated_ids as (

    select distinct
        eval_run_id,
        sample_id
    from generated_lines

),

-- Without a generated line for its id a scoring line stays, without turns: the first one, and in graded runs, which
-- judge several rollouts of a sample, every one. A line beyond the rollouts there are belongs to none.
int_scoring_lines as (

    select
        counted.*,
        generated_lines.rollout is not null as has_generated_line,
        case
            when generated_lines.rollout is not null then generated_lines.rollout
            when generated_ids.eval_run_id is not null then null
            when counted.nth_line_of_id = 1 or counted.scoring_mode = 'graded_20' then counted.nth_line_of_id
        end as rollout
    from counted
    left join generated_lines
        on
            counted.eval_run_id = generated_lines.eval_run_id
            and counted.sample_id = generated_lines.sample_id
            and counted.nth_line_of_id = generated_lines.nth_of_sample
    left join generated_ids
        on
            counted.eval_run_id = generated_ids.eval_run_id
            and counted.sample_id = generated_ids.sample_id

)

select * from int_scoring_lines
