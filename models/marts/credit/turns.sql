with sides as (

    select * from {{ ref('int_duel_sides') }}

),

side_turns as (

    select * from {{ ref('int_turns') }}

),

answers as (

    select * from {{ ref('answers') }}

),

citations as (

    select * from {{ ref('citations') }}

),

-- A run that did not succeed is kept in `duels` and `sides`, and left out of credit.
counted_sides as (

    select * from sides
    where scored and run_state = 'succeeded'

),

earned_citations as (

    select
        citations.turn_id,
        citations.judge_index,
        answers.question_index,
        citations.form,
        answers.plain_tag,
        answers.weight * citations.share / answers.n_judges as split,
        answers.weight / answers.n_judges as whole,
        answers.weight * citations.share_extended / answers.n_judges as split_extended
    from citations
    inner join answers
        on
            citations.side_id = answers.side_id
            and citations.judge_index = answers.judge_index
            and citations.question_id = answers.question_id
    where citations.valid and answers.earned

),

credit as (

    select
        turn_id,
        {{ exact_sum('split', 'form = \'strict\'') }} as credit_split,
        {{ exact_sum('whole', 'form = \'strict\'') }} as credit_full,
        {{ exact_sum('split_extended') }} as credit_split_extended,
        {{ exact_sum('whole') }} as credit_full_extended,
        count(*) filter (where form = 'strict') as n_citing_answers,
        list(plain_tag order by plain_tag, judge_index, question_index)
        filter (where form = 'strict' and plain_tag is not null)
            as tags
    from earned_citations
    group by turn_id

),

credited as (

    select
        counted_sides.eval_run_id,
        counted_sides.sample_id,
        counted_sides.rollout,
        counted_sides.side,
        counted_sides.source,
        counted_sides.phase,
        counted_sides.model,
        counted_sides.zeroed,
        side_turns.* exclude (side), -- noqa: RF02
        coalesce(credit.credit_split, 0.0) as credit_split,
        coalesce(credit.credit_full, 0.0) as credit_full,
        coalesce(credit.credit_split_extended, 0.0) as credit_split_extended,
        coalesce(credit.credit_full_extended, 0.0) as credit_full_extended,
        coalesce(credit.n_citing_answers, 0) as n_citing_answers,
        coalesce(credit.tags, cast([] as varchar[])) as tags
    from counted_sides
    inner join side_turns on counted_sides.side_id = side_turns.side_id
    left join credit on side_turns.turn_id = credit.turn_id

),

turns as (

    select
        side_id,
        turn_id,
        eval_run_id,
        sample_id,
        rollout,
        side,
        turn,
        source,
        phase,
        model,
        command,
        command_kind,
        command_kind_first_word,
        second_stage,
        n_bash_blocks,
        think_state,
        is_submission,
        is_truncated,
        is_abandoned,
        observation_format,
        returncode,
        failed,
        fail_reason,
        observation_truncated,
        credit_split,
        credit_full,
        credit_split_extended,
        credit_full_extended,
        n_citing_answers,
        tags,
        is_repeat,
        follows_failure,
        failures_before,
        repeats_before,
        coalesce(turn >= 2 and follows_failure and credit_split > 0, false) as is_recovery,
        coalesce(turn >= 2 and credit_split > 0 and (coalesce(follows_failure, false) or leaves_repeats), false)
            as is_escape,
        leaves_repeats,
        zeroed,
        n_characters,
        n_observation_characters,
        artifact_id,
        line,
        message_index,
        observation_message_index
    from credited

)

select * from turns
