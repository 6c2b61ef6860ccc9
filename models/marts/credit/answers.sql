with duel_answers as (

    select * from {{ ref('int_duel_answers') }}

),

run_weights as (

    select * from {{ ref('int_run_weights') }}

),

question_weights as (

    select * from {{ ref('int_question_weights') }}

),

citations as (

    select * from {{ ref('citations') }}

),

cited as (

    select
        side_id,
        judge_index,
        question_id,
        count(*) filter (where form = 'strict') as n_cited,
        count(*) filter (where form = 'strict' and valid) as n_cited_valid,
        count(*) as n_cited_extended,
        count(*) filter (where valid) as n_cited_extended_valid
    from citations
    group by side_id, judge_index, question_id

),

weighed as (

    select
        duel_answers.*,
        question_weights.weight,
        -- A "no" never earns, nor does a judge whose reply was not read, nor a side or run that does not count.
        coalesce(
            duel_answers.scored
            and duel_answers.run_state = 'succeeded'
            and duel_answers.is_yes
            and question_weights.weight > 0
            and duel_answers.parse_ok
            and not duel_answers.zeroed,
            false
        ) as earned,
        coalesce(cited.n_cited, 0) as n_cited,
        coalesce(cited.n_cited_valid, 0) as n_cited_valid,
        coalesce(cited.n_cited_extended, 0) as n_cited_extended,
        coalesce(cited.n_cited_extended_valid, 0) as n_cited_extended_valid
    from duel_answers
    inner join run_weights on duel_answers.eval_run_id = run_weights.eval_run_id
    inner join question_weights
        on
            duel_answers.scoring_artifact_id = question_weights.artifact_id
            and duel_answers.scoring_line = question_weights.line
            and duel_answers.question_index = question_weights.question_index
            and run_weights.tag_weights_id = question_weights.tag_weights_id
    left join cited
        on
            duel_answers.side_id = cited.side_id
            and duel_answers.judge_index = cited.judge_index
            and duel_answers.question_id = cited.question_id

),

answers as (

    select
        side_id,
        eval_run_id,
        sample_id,
        rollout,
        side,
        judge_index,
        judge_model,
        question_id,
        question_index,
        tag,
        plain_tag,
        requires,
        category,
        step,
        weight,
        answer_text as answer,
        answer_scale,
        answer_value as value,
        is_answered,
        is_yes,
        parse_ok,
        zeroed,
        scored,
        scored and run_state = 'succeeded' as is_counted,
        n_judges,
        earned,
        -- The mean over judges divides by the side's judge records.
        case when earned then weight / n_judges else 0.0 end as earned_weight,
        is_explained,
        n_cited,
        n_cited_valid,
        n_cited_extended,
        n_cited_extended_valid
    from weighed

)

select * from answers
