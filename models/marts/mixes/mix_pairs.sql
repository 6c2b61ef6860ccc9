with candidates as (

    select * from {{ ref('pair_candidates') }}

),

splits as (

    select * from {{ ref('mix_rows') }}

),

task_splits as (

    select
        instance_id,
        min(split) as split
    from splits
    group by instance_id

),

mix_pairs as (

    select
        candidates.eval_run_id,
        candidates.sample_id,
        candidates.rollout,
        candidates.instance_id,
        task_splits.split,
        candidates.chosen_side,
        candidates.rejected_side,
        candidates.chosen_side_id,
        candidates.rejected_side_id,
        candidates.chosen_model,
        candidates.rejected_model,
        candidates.chosen_score,
        candidates.rejected_score,
        candidates.score_gap,
        candidates.rejected_looped,
        candidates.reasons
    from candidates
    left join task_splits on candidates.instance_id = task_splits.instance_id

)

select * from mix_pairs
order by eval_run_id asc, sample_id asc, rollout asc
