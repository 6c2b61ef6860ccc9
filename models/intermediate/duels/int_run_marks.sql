with files as (

    select * from {{ ref('int_run_files') }}
    where is_counted

),

sample_marks as (

    select
        files.eval_run_id,
        count(*) as n_samples,
        bool_or(
            generated_samples.rewrite_mode is not null or generated_samples.submit_marker is not null
        ) as has_submit_protocol
    from files
    inner join {{ ref('stg_sn97__generated_samples') }} as generated_samples
        on files.artifact_id = generated_samples.artifact_id
    group by files.eval_run_id

),

scoring_marks as (

    select
        files.eval_run_id,
        count(*) as n_scoring_lines,
        count(*) filter (where scoring_results.scored) as n_scored,
        bool_or(scoring_results.scoring_mode = 'graded_20') as has_letters,
        bool_or(
            scoring_results.king_amputated_thinking is not null
            or scoring_results.challenger_amputated_thinking is not null
        ) as has_amputated,
        min(scoring_results.scoring_mode) as scoring_mode
    from files
    inner join {{ ref('stg_sn97__scoring_results') }} as scoring_results
        on files.artifact_id = scoring_results.artifact_id
    group by files.eval_run_id

),

question_marks as (

    select
        files.eval_run_id,
        count(*) as n_questions,
        bool_or(questions.weight is not null) as has_weights,
        bool_or(questions.tag in ('reference:grounding', 'reference:claims')) as has_v4_tags,
        bool_or(starts_with(questions.tag, 'reference:') or starts_with(questions.tag, 'behavior:'))
            as has_prefixed_tags,
        bool_or(questions.tag <> '') as has_tags,
        bool_or(questions.category is not null) as has_categories
    from files
    inner join {{ ref('stg_sn97__questions') }} as questions on files.artifact_id = questions.artifact_id
    group by files.eval_run_id

),

judge_marks as (

    select
        files.eval_run_id,
        bool_or(judge_results.looped) as has_looped,
        bool_or(judge_results.repeats is not null) as has_repeats,
        bool_or(judge_results.metric_scores is not null) as has_metrics
    from files
    inner join {{ ref('stg_sn97__judge_results') }} as judge_results on files.artifact_id = judge_results.artifact_id
    group by files.eval_run_id

),

runs as (

    select distinct eval_run_id
    from files

),

int_run_marks as (

    select
        runs.eval_run_id,
        coalesce(sample_marks.n_samples, 0) as n_samples,
        coalesce(sample_marks.has_submit_protocol, false) as has_submit_protocol,
        coalesce(scoring_marks.n_scoring_lines, 0) as n_scoring_lines,
        coalesce(scoring_marks.n_scored, 0) as n_scored,
        coalesce(scoring_marks.has_letters, false) as has_letters,
        coalesce(scoring_marks.has_amputated, false) as has_amputated,
        scoring_marks.scoring_mode,
        coalesce(question_marks.n_questions, 0) as n_questions,
        coalesce(question_marks.has_weights, false) as has_weights,
        coalesce(question_marks.has_v4_tags, false) as has_v4_tags,
        coalesce(question_marks.has_prefixed_tags, false) as has_prefixed_tags,
        coalesce(question_marks.has_tags, false) as has_tags,
        coalesce(question_marks.has_categories, false) as has_categories,
        coalesce(judge_marks.has_looped, false) as has_looped,
        coalesce(judge_marks.has_repeats, false) as has_repeats,
        coalesce(judge_marks.has_metrics, false) as has_metrics
    from runs
    left join sample_marks on runs.eval_run_id = sample_marks.eval_run_id
    left join scoring_marks on runs.eval_run_id = scoring_marks.eval_run_id
    left join question_marks on runs.eval_run_id = question_marks.eval_run_id
    left join judge_marks on runs.eval_run_id = judge_marks.eval_run_id

)

select * from int_run_marks
