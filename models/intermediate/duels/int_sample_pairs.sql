with sides as (

    select * from {{ ref('int_duel_sides') }}

),

kings as (

    select * from sides
    where side = 'king' and scored and run_state = 'succeeded' and score is not null

),

challengers as (

    select * from sides
    where side = 'challenger' and scored and run_state = 'succeeded' and score is not null

),

int_sample_pairs as (

    select
        kings.eval_run_id,
        kings.sample_id,
        kings.rollout,
        -- One dataset row is one task, wherever in it the candidate takes over.
        coalesce(kings.shard || ':' || cast(kings.dataset_row as varchar), kings.sample_id) as task_instance,
        kings.score as score_king,
        challengers.score as score_challenger,
        coalesce(runs.required_win_margin, rulesets.margin) as required_margin,
        rulesets.wins_needed
    from kings
    inner join challengers
        on
            kings.eval_run_id = challengers.eval_run_id
            and kings.sample_id = challengers.sample_id
            and kings.rollout = challengers.rollout
    inner join {{ ref('int_duel_runs') }} as runs on kings.eval_run_id = runs.eval_run_id
    left join {{ ref('rulesets') }} as rulesets on runs.ruleset_id = rulesets.ruleset_id

)

select * from int_sample_pairs
