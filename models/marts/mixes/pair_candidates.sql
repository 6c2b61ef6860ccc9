with duel_sides as (

    select * from {{ ref('mix_sides') }}
    where is_counted and has_messages and isfinite(score)

),

sides as (

    select * from {{ ref('sides') }}

),

described as (

    select
        duel_sides.*,
        sides.corrupted,
        coalesce(sides.looped_stored, false) or coalesce(sides.looped, false) as is_looped
    from duel_sides
    inner join sides on duel_sides.side_id = sides.side_id

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

pair_candidates as (

    select
        eval_run_id,
        sample_id,
        rollout,
        instance_id,
        chosen_side,
        rejected_side,
        chosen_side_id,
        rejected_side_id,
        chosen_model,
        rejected_model,
        chosen_score,
        rejected_score,
        score_gap,
        rejected_looped,
        reasons
    from reasoned
    where len(reasons) > 0

)

select * from pair_candidates
