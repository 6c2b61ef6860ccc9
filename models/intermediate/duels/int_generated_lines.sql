with generated_samples as (

    select * from {{ ref('stg_sn97__generated_samples') }}

),

-- A second line for the same key has no rollout of its own to be: the first counts, the others are listed.
placed as (

    select
        eval_run_id,
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
        king_error is null
        and challenger_error is null
        and (n_king_messages is not null or coalesce(king_output, '') <> '')
        and (n_challenger_messages is not null or coalesce(challenger_output, '') <> '') as generated_both,
        row_number() over (
            partition by eval_run_id, base_sample_id, coalesce(rollout_suffix, 1)
            order by artifact_id, line
        ) as nth_line_of_id
    from generated_samples

),

-- Scoring lines come in the order of the rollouts that generated both sides. The others stand behind these, for a
-- scoring line that is there although a side has neither text nor an excuse.
int_generated_lines as (

    select
        *,
        case
            when nth_line_of_id = 1
                then row_number() over (
                    partition by eval_run_id, sample_id, nth_line_of_id = 1
                    order by not generated_both, rollout
                )
        end as nth_of_sample
    from placed

)

select * from int_generated_lines
