with answers as (

    select * from {{ ref('int_duel_answers') }}

),

weights as (

    select * from {{ ref('int_question_weights') }}

),

sides as (

    select * from {{ ref('int_duel_sides') }}

),

-- V1 leaves the size questions out of the mean (they weigh 0) and applies their share of yes as a factor.
weighed as (

    select
        answers.eval_run_id,
        answers.sample_id,
        answers.rollout,
        answers.side,
        answers.judge_index,
        weights.tag_weights_id,
        sum(weights.weight) as sum_weight_asked,
        fsum(weights.weight order by answers.question_index) filter (where answers.answer_value is not null)
            as sum_weight,
        fsum(weights.weight * answers.answer_value order by answers.question_index)
            filter (where answers.answer_value is not null) as sum_weighted,
        fsum(answers.answer_value order by answers.question_index)
            filter (where answers.answer_value is not null) as sum_plain,
        count(answers.answer_value) as n_answered,
        fsum(answers.answer_value order by answers.question_index)
            filter (where answers.category = 'size' and answers.answer_value is not null) as sum_size,
        count(answers.answer_value) filter (where answers.category = 'size') as n_size
    from answers
    inner join weights
        on
            answers.scoring_artifact_id = weights.artifact_id
            and answers.scoring_line = weights.line
            and answers.question_index = weights.question_index
    group by
        answers.eval_run_id,
        answers.sample_id,
        answers.rollout,
        answers.side,
        answers.judge_index,
        weights.tag_weights_id

),

rated as (

    select
        *,
        case
            when n_answered = 0 then null
            when sum_weight = 0 then {{ round_like_python('sum_plain / n_answered', 6) }}
            when tag_weights_id = 'v1' and n_size > 0
                then {{ round_like_python(
                    'sum_weighted / sum_weight * (' ~ var('size_factor_floor') ~ ' + (1.0 - '
                    ~ var('size_factor_floor') ~ ') * sum_size / n_size)', 6
                ) }}
            else {{ round_like_python('sum_weighted / sum_weight', 6) }}
        end as yes_rate
    from weighed

),

responses as (

    select
        eval_run_id,
        sample_id,
        rollout,
        side,
        tag_weights_id,
        max(sum_weight_asked) as sum_weight,
        fsum(yes_rate order by judge_index) / nullif(count(yes_rate), 0) as mean_yes_rate
    from rated
    group by eval_run_id, sample_id, rollout, side, tag_weights_id

),

int_side_scores as (

    select
        responses.eval_run_id,
        responses.sample_id,
        responses.rollout,
        responses.side,
        responses.tag_weights_id,
        responses.sum_weight,
        sides.score as stored_score,
        sides.zeroed,
        case
            when coalesce(sides.amputated_stored, false)
                then {{ round_like_python(
                    round_like_python('responses.mean_yes_rate', 6) ~ ' * coalesce(sides.amputated_multiplier, 1.0)', 6
                ) }}
            else {{ round_like_python('responses.mean_yes_rate', 6) }}
        end as score
    from responses
    inner join sides
        on
            responses.eval_run_id = sides.eval_run_id
            and responses.sample_id = sides.sample_id
            and responses.rollout = sides.rollout
            and responses.side = sides.side

)

select * from int_side_scores
