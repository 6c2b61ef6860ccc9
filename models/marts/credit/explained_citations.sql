{{ config(materialized="view") }}
with citations as (

    select * from {{ ref('citations') }}

),

answers as (

    select * from {{ ref('answers') }}

),

sides as (

    select * from {{ ref('sides') }}

),

questions as (

    select * from {{ ref('questions') }}

),

published_answers as (

    select * from {{ ref('stg_sn97__answers') }}
    where format = 'current'

),

explained_citations as (

    select
        citations.side_id,
        citations.turn_id,
        citations.eval_run_id,
        citations.sample_id,
        citations.rollout,
        citations.side,
        citations.turn,
        citations.judge_index,
        answers.judge_model,
        citations.question_id,
        answers.question_index,
        questions.question,
        answers.tag,
        answers.plain_tag,
        answers.weight,
        answers.answer,
        answers.is_yes,
        answers.earned,
        citations.form,
        citations.valid,
        case when answers.earned then answers.weight * citations.share / answers.n_judges else 0.0 end as credit_split,
        published_answers.explanation,
        sides.scoring_artifact_id,
        sides.scoring_line
    from citations
    inner join answers
        on
            citations.side_id = answers.side_id
            and citations.judge_index = answers.judge_index
            and citations.question_id = answers.question_id
    inner join sides on citations.side_id = sides.side_id
    inner join published_answers
        on
            sides.scoring_artifact_id = published_answers.artifact_id
            and sides.scoring_line = published_answers.line
            and citations.judge_index = published_answers.judge_index
            and citations.question_id = published_answers.question_id
    left join questions
        on
            citations.eval_run_id = questions.eval_run_id
            and citations.sample_id = questions.sample_id
            and citations.rollout = questions.rollout
            and citations.question_id = questions.question_id

)

select * from explained_citations
