with duel_sides as (

    select * from {{ ref('int_duel_sides') }}

),

published_questions as (

    select * from {{ ref('stg_sn97__questions') }}

),

run_weights as (

    select * from {{ ref('int_run_weights') }}

),

question_weights as (

    select * from {{ ref('int_question_weights') }}

),

answers as (

    select * from {{ ref('answers') }}

),

samples as (

    select * from duel_sides
    where side = 'king' and scored and run_state = 'succeeded'

),

-- Judges are averaged first; a side that was zeroed was not asked.
by_side as (

    select
        eval_run_id,
        sample_id,
        rollout,
        question_id,
        {{ exact_sum('value', "side = 'king'") }} / nullif(count(value) filter (where side = 'king'), 0) as value_king,
        {{ exact_sum('value', "side = 'challenger'") }} / nullif(count(value) filter (where side = 'challenger'), 0)
            as value_challenger,
        {{ exact_sum('earned_weight', "side = 'king'") }} as earned_weight_king,
        {{ exact_sum('earned_weight', "side = 'challenger'") }} as earned_weight_challenger
    from answers
    where is_counted and not zeroed
    group by eval_run_id, sample_id, rollout, question_id

),

questions as (

    select
        samples.eval_run_id,
        samples.sample_id,
        samples.rollout,
        published_questions.question_id,
        published_questions.question_index,
        published_questions.text as question,
        published_questions.tag,
        {{ plain_tag('published_questions.tag') }} as plain_tag,
        published_questions.requires,
        published_questions.category,
        published_questions.step,
        question_weights.weight,
        samples.source,
        samples.phase,
        by_side.value_king,
        by_side.value_challenger,
        by_side.value_challenger - by_side.value_king as difference,
        by_side.value_challenger <> by_side.value_king as separates,
        coalesce(by_side.earned_weight_king, 0.0) as earned_weight_king,
        coalesce(by_side.earned_weight_challenger, 0.0) as earned_weight_challenger
    from samples
    inner join published_questions
        on
            samples.scoring_artifact_id = published_questions.artifact_id
            and samples.scoring_line = published_questions.line
    inner join run_weights on samples.eval_run_id = run_weights.eval_run_id
    inner join question_weights
        on
            published_questions.artifact_id = question_weights.artifact_id
            and published_questions.line = question_weights.line
            and published_questions.question_index = question_weights.question_index
            and run_weights.tag_weights_id = question_weights.tag_weights_id
    left join by_side
        on
            samples.eval_run_id = by_side.eval_run_id
            and samples.sample_id = by_side.sample_id
            and samples.rollout = by_side.rollout
            and published_questions.question_id = by_side.question_id
    -- A second question of the same id on a line has no answer of its own.
    qualify
        row_number() over (
            partition by samples.eval_run_id, samples.sample_id, samples.rollout, published_questions.question_id
            order by published_questions.question_index
        ) = 1

)

select * from questions
