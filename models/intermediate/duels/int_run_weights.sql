with runs as (

    select * from {{ ref('int_duel_runs') }}

),

-- How many stored scores a table of weights reproduces. One that weighs a whole line 0 reproduces nothing there.
reproduced as (

    select
        side_scores.eval_run_id,
        side_scores.tag_weights_id,
        count(*) filter (
            where side_scores.sum_weight > 0 and abs(side_scores.score - side_scores.stored_score) <= 1e-4
        ) as n_reproduced
    from {{ ref('int_side_scores') }} as side_scores
    inner join {{ ref('int_duel_sides') }} as sides on side_scores.side_id = sides.side_id
    where sides.scored and not sides.zeroed
    group by side_scores.eval_run_id, side_scores.tag_weights_id

),

candidates as (

    select
        runs.eval_run_id,
        tables.tag_weights_id,
        coalesce(reproduced.n_reproduced, 0) as n_reproduced,
        row_number() over (
            partition by runs.eval_run_id
            -- V4 on a tie.
            order by coalesce(reproduced.n_reproduced, 0) desc, tables.preference
        ) as preference
    from runs
    cross join (values ('v5b', 0), ('v4', 1), ('uniform', 2), ('v1', 3)) as tables (tag_weights_id, preference)
    left join reproduced
        on
            runs.eval_run_id = reproduced.eval_run_id
            and tables.tag_weights_id = reproduced.tag_weights_id
    where
        runs.n_questions > 0
        and not runs.has_weights
        and case tables.tag_weights_id
            when 'v5b' then coalesce(runs.era = 'V5b', false)
            when 'v1' then not runs.has_tags
            else true
        end

),

int_run_weights as (

    select
        eval_run_id,
        'stamped' as tag_weights_id,
        cast(null as bigint) as n_reproduced
    from runs
    where has_weights
    union all
    select
        eval_run_id,
        tag_weights_id,
        n_reproduced
    from candidates
    where preference = 1

)

select * from int_run_weights
