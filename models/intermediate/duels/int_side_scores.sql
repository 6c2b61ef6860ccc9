-- Sums go question by question, as the validator's do: where the sixth decimal is a tie, the last bit decides it.
-- V1 leaves the size questions out of the mean (they weigh 0) and applies their share of yes as a factor.
with weighed as (

    select
        answers.side_id,
        answers.judge_index,
        weights.tag_weights_id,
        sum(weights.weight) as sum_weight_asked,
        {{ sum_in_order('weights.weight', 'answers.question_index', 'answers.answer_value is not null') }}
            as sum_weight,
        {{ sum_in_order(
            'weights.weight * answers.answer_value', 'answers.question_index', 'answers.answer_value is not null'
        ) }} as sum_weighted,
        {{ sum_in_order('answers.answer_value', 'answers.question_index', 'answers.answer_value is not null') }}
            as sum_plain,
        count(answers.answer_value) as n_answered,
        {{ sum_in_order(
            'answers.answer_value', 'answers.question_index',
            "answers.category = 'size' and answers.answer_value is not null"
        ) }} as sum_size,
        count(answers.answer_value) filter (where answers.category = 'size') as n_size
    from {{ ref('int_duel_answers') }} as answers
    inner join {{ ref('int_question_weights') }} as weights
        on
            answers.scoring_artifact_id = weights.artifact_id
            and answers.scoring_line = weights.line
            and answers.question_index = weights.question_index
    group by
        answers.side_id,
        answers.judge_index,
        weights.tag_weights_id

),

with_size_factor as (

    select
        *,
        {{ var('size_factor_floor') }} + (1.0 - {{ var('size_factor_floor') }}) * sum_size / n_size as size_factor
    from weighed

),

rated as (

    select
        *,
        case
            when n_answered = 0 then null
            when sum_weight = 0 then {{ round_like_python('sum_plain / n_answered', 6) }}
            when tag_weights_id = 'v1' and n_size > 0
                then {{ round_like_python('sum_weighted / sum_weight * size_factor', 6) }}
            else {{ round_like_python('sum_weighted / sum_weight', 6) }}
        end as yes_rate
    from with_size_factor

),

responses as (

    select
        side_id,
        tag_weights_id,
        max(sum_weight_asked) as sum_weight,
        {{ sum_in_order('yes_rate', 'judge_index', 'yes_rate is not null') }} / nullif(count(yes_rate), 0)
            as mean_yes_rate
    from rated
    group by side_id, tag_weights_id

),

rounded as (

    select
        *,
        {{ round_like_python('mean_yes_rate', 6) }} as response_score
    from responses

),

-- What the side was judged by, whatever ruleset a var puts in its place.
own_rules as (

    select
        runs.eval_run_id,
        coalesce(rulesets.amputated_multiplier, 1.0) as amputated_multiplier
    from {{ ref('int_duel_runs') }} as runs
    left join {{ ref('rulesets') }} as rulesets on runs.own_ruleset_id = rulesets.ruleset_id

),

int_side_scores as (

    select
        rounded.side_id,
        sides.eval_run_id,
        rounded.tag_weights_id,
        rounded.sum_weight,
        rounded.response_score,
        sides.score as stored_score,
        sides.zeroed,
        {{ amputated_score(
            'rounded.response_score', 'coalesce(sides.amputated_stored, false)', 'own_rules.amputated_multiplier'
        ) }} as score
    from rounded
    inner join {{ ref('int_duel_sides') }} as sides on rounded.side_id = sides.side_id
    inner join own_rules on sides.eval_run_id = own_rules.eval_run_id

)

select * from int_side_scores
