-- Every question of the line before every judge of the side; an answer that names no question of the line is not one.
with asked as (

    select
        sides.side_id,
        sides.eval_run_id,
        sides.sample_id,
        sides.rollout,
        sides.side,
        sides.scoring_artifact_id,
        sides.scoring_line,
        sides.scored,
        sides.zeroed,
        sides.n_turns,
        sides.n_judges,
        sides.run_state,
        judge_results.judge_index,
        judge_results.judge_model,
        judge_results.parse_ok,
        questions.question_index,
        questions.question_id,
        questions.tag,
        questions.requires,
        questions.category,
        questions.step,
        row_number() over (
            partition by
                sides.scoring_artifact_id, sides.scoring_line, sides.side,
                judge_results.judge_index, questions.question_id
            order by questions.question_index
        ) as nth_of_id
    from {{ ref('int_duel_sides') }} as sides
    inner join {{ ref('stg_sn97__questions') }} as questions
        on
            sides.scoring_artifact_id = questions.artifact_id
            and sides.scoring_line = questions.line
    inner join {{ ref('stg_sn97__judge_results') }} as judge_results
        on
            sides.scoring_artifact_id = judge_results.artifact_id
            and sides.scoring_line = judge_results.line
            and sides.side = judge_results.side

),

-- Letter grades carry a probability-weighted score, which is the real one; what is no probability is none.
weighted as (

    select
        artifact_id,
        line,
        judge_index,
        question_id,
        explanation,
        answer_text,
        answer_scale,
        is_answered,
        case
            when answer_scale = 'graded_20' and score between 0 and 1 then score
            else answer_value
        end as answer_value
    from {{ ref('stg_sn97__answers') }}
    where format = 'current'

),

int_duel_answers as (

    select
        asked.side_id,
        asked.eval_run_id,
        asked.sample_id,
        asked.rollout,
        asked.side,
        asked.judge_index,
        asked.question_id,
        asked.question_index,
        asked.scoring_artifact_id,
        asked.scoring_line,
        asked.run_state,
        asked.scored,
        asked.zeroed,
        asked.n_turns,
        asked.n_judges,
        asked.judge_model,
        asked.parse_ok,
        asked.tag,
        {{ plain_tag('asked.tag') }} as plain_tag,
        asked.requires,
        asked.category,
        asked.step,
        weighted.answer_text,
        weighted.answer_scale,
        coalesce(weighted.is_answered, false) as is_answered,
        coalesce(weighted.explanation, '') <> '' as is_explained,
        weighted.answer_value,
        case
            when weighted.answer_scale = 'graded_20' then weighted.answer_value >= 0.5
            when weighted.answer_scale = 'binary' then weighted.answer_value = 1
            when weighted.answer_scale is not null then false
        end as is_yes
    from asked
    left join weighted
        on
            asked.scoring_artifact_id = weighted.artifact_id
            and asked.scoring_line = weighted.line
            and asked.judge_index = weighted.judge_index
            and asked.question_id = weighted.question_id
    where asked.nth_of_id = 1

)

select * from int_duel_answers
