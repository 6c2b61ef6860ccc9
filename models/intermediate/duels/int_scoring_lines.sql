with generated_lines as (

    select * from {{ ref('int_generated_lines') }}
    where nth_line_of_id = 1

),

counted as (

    select
        run_files.eval_run_id,
        scoring_results.base_sample_id as sample_id,
        scoring_results.sample_id as published_sample_id,
        scoring_results.artifact_id,
        scoring_results.line,
        scoring_results.dataset_source,
        scoring_results.shard,
        scoring_results.dataset_row,
        scoring_results.scored,
        scoring_results.scoring_mode,
        scoring_results.king_score,
        scoring_results.challenger_score,
        scoring_results.king_amputated_thinking,
        scoring_results.challenger_amputated_thinking,
        scoring_results.question_source ->> '$.sample_phase' as phase,
        coalesce(json_exists(scoring_results.question_source, '$.pruned_out'), false) as was_pruned,
        scoring_results.error,
        run_files.is_counted,
        run_files.reason as file_reason,
        case
            when run_files.is_counted
                then row_number() over (
                    partition by run_files.eval_run_id, scoring_results.base_sample_id, run_files.is_counted
                    order by scoring_results.artifact_id, scoring_results.line
                )
        end as nth_line_of_id
    from {{ ref('stg_sn97__scoring_results') }} as scoring_results
    inner join {{ ref('int_run_files') }} as run_files on scoring_results.artifact_id = run_files.artifact_id

),

generated_ids as (

    select distinct
        eval_run_id,
        sample_id
    from generated_lines

),

-- Without a generated line for its id a scoring line stays, without turns: the first one, and in graded runs, which
-- judge several rollouts of a sample, every one. A line beyond the rollouts there are belongs to none.
dealt as (

    select
        counted.* exclude (is_counted), -- noqa: RF02
        generated_lines.rollout is not null as has_generated_line,
        case
            when not counted.is_counted then null
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

),

int_scoring_lines as (

    select
        * exclude (file_reason),
        coalesce(
            file_reason, case when rollout is null then 'more scoring lines than rollouts of the sample' end
        ) as reason
    from dealt

)

select * from int_scoring_lines
