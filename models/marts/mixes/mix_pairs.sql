with duel_sides as (

    select * from {{ ref('mix_sides') }}
    where is_counted and has_messages and isfinite(score)

),

sides as (

    select * from {{ ref('sides') }}

),

splits as (

    select * from {{ ref('mix_rows') }}

),

described as (

    select
        duel_sides.*,
        sides.corrupted,
        coalesce(sides.looped_stored, false) or coalesce(sides.looped, false) as is_looped
    from duel_sides
    inner join sides on duel_sides.side_id = sides.side_id

),

task_splits as (

    select
        instance_id,
        min(split) as split
    from splits
    group by instance_id

),

-- The side with the higher score is preferred; a side that looped or is corrupted is never the better example.
paired as (

    select
        better.eval_run_id,
        better.sample_id,
        better.rollout,
        better.instance_id,
        better.side as chosen_side,
        worse.side as rejected_side,
        better.side_id as chosen_side_id,
        worse.side_id as rejected_side_id,
        better.model as chosen_model,
        worse.model as rejected_model,
        better.score as chosen_score,
        worse.score as rejected_score,
        better.score - worse.score as score_gap,
        worse.is_looped as rejected_looped
    from described as better
    inner join described as worse
        on
            better.eval_run_id = worse.eval_run_id
            and better.sample_id = worse.sample_id
            and better.rollout = worse.rollout
            and better.side <> worse.side
    where better.score > worse.score and not better.is_looped and not coalesce(better.corrupted, false)

),

reasoned as (

    select
        *,
        list_filter(
            [
                case when rejected_looped then 'loop' end,
                case when score_gap >= {{ var('pair_score_gap') }} then 'score_gap' end
            ],
            lambda reason: reason is not null
        ) as reasons
    from paired

),

mix_pairs as (

    select
        reasoned.eval_run_id,
        reasoned.sample_id,
        reasoned.rollout,
        reasoned.instance_id,
        task_splits.split,
        reasoned.chosen_side,
        reasoned.rejected_side,
        reasoned.chosen_side_id,
        reasoned.rejected_side_id,
        reasoned.chosen_model,
        reasoned.rejected_model,
        reasoned.chosen_score,
        reasoned.rejected_score,
        reasoned.score_gap,
        reasoned.rejected_looped,
        reasoned.reasons
    from reasoned
    left join task_splits on reasoned.instance_id = task_splits.instance_id
    where len(reasoned.reasons) > 0

)

select * from mix_pairs
order by eval_run_id asc, sample_id asc, rollout asc
