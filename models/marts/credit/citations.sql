with cited_turns as (

    select * from {{ ref('int_cited_turns') }}

),

answers as (

    select * from {{ ref('int_duel_answers') }}

),

placed as (

    select
        answers.side_id,
        answers.eval_run_id,
        answers.sample_id,
        answers.rollout,
        answers.side,
        answers.judge_index,
        answers.question_id,
        cited_turns.turn,
        cited_turns.form,
        cited_turns.turn between 1 and answers.n_turns as valid
    from cited_turns
    inner join answers
        on
            cited_turns.artifact_id = answers.scoring_artifact_id
            and cited_turns.line = answers.scoring_line
            and cited_turns.judge_index = answers.judge_index
            and cited_turns.question_id = answers.question_id

),

counted as (

    select
        *,
        count(*) filter (where valid and form = 'strict') over an_answer as n_valid_strict,
        count(*) filter (where valid) over an_answer as n_valid_extended
    from placed
    window an_answer as (partition by side_id, judge_index, question_id)

),

citations as (

    select
        side_id,
        side_id || '/' || cast(turn as varchar) as turn_id,
        eval_run_id,
        sample_id,
        rollout,
        side,
        judge_index,
        question_id,
        turn,
        form,
        valid,
        case when valid and form = 'strict' then 1.0 / n_valid_strict else 0.0 end as share,
        case when valid then 1.0 / n_valid_extended else 0.0 end as share_extended
    from counted

)

select * from citations
