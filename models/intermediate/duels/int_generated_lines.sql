-- The texts of a line end here: carried through the windows below they would be most of what a build holds in memory.
with generated_samples as (

    select
        * exclude (king_output, challenger_output),
        king_error is null
        and challenger_error is null
        and (n_king_messages is not null or coalesce(king_output, '') <> '')
        and (n_challenger_messages is not null or coalesce(challenger_output, '') <> '') as generated_both
    from {{ ref('stg_sn97__generated_samples') }}

),

-- A line belongs to the run of its file, unless it says itself that it does not.
lines as (

    select
        generated_samples.*,
        run_files.eval_run_id as run_id,
        case
            when not run_files.is_counted then run_files.reason
            when generated_samples.stated_eval_run_id <> run_files.eval_run_id
                then 'the line states the eval run ' || generated_samples.stated_eval_run_id
        end as file_reason
    from generated_samples
    inner join {{ ref('int_run_files') }} as run_files on generated_samples.artifact_id = run_files.artifact_id

),

-- A second line for the same key has no rollout of its own to be: the first counts, the others are listed.
placed as (

    select
        run_id as eval_run_id,
        base_sample_id as sample_id,
        coalesce(rollout_suffix, 1) as rollout,
        sample_id as published_sample_id,
        artifact_id,
        line,
        dataset_source,
        shard,
        dataset_row,
        submit_command,
        king_error,
        challenger_error,
        file_reason,
        generated_both,
        case
            when file_reason is null
                then row_number() over (
                    partition by run_id, base_sample_id, coalesce(rollout_suffix, 1), file_reason is null
                    order by artifact_id, line
                )
        end as nth_line_of_id
    from lines

),

-- Scoring lines come in the order of the rollouts that generated both sides. The others stand behind these, for a
-- scoring line that is there although a side has neither text nor an excuse.
int_generated_lines as (

    select
        * exclude (file_reason),
        case
            when nth_line_of_id = 1
                then row_number() over (
                    partition by eval_run_id, sample_id, coalesce(nth_line_of_id = 1, false)
                    order by not generated_both, rollout
                )
        end as nth_of_sample,
        coalesce(
            file_reason, case when nth_line_of_id > 1 then 'an earlier line has the same sample and rollout' end
        ) as reason
    from placed

)

select * from int_generated_lines
