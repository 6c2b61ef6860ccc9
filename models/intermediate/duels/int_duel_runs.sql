{%- set forced_ruleset = var('ruleset') | replace("'", "''") -%}
with verdicts as (

    select * from {{ ref('stg_sn97__verdicts') }}

),

requests as (

    select * from {{ ref('stg_sn97__requests') }}

),

dashboard_runs as (

    select * from {{ ref('stg_sn97__dashboard_runs') }}

),

generated_samples as (

    select * from {{ ref('stg_sn97__generated_samples') }}

),

scoring_results as (

    select * from {{ ref('stg_sn97__scoring_results') }}

),

questions as (

    select * from {{ ref('stg_sn97__questions') }}

),

judge_results as (

    select * from {{ ref('stg_sn97__judge_results') }}

),

rulesets as (

    select * from {{ ref('rulesets') }}

),

-- A run has one file of a kind; should a copy lie elsewhere in the tree, the first path counts.
first_verdicts as (

    select * from verdicts
    qualify row_number() over (partition by eval_run_id order by artifact_id) = 1

),

first_requests as (

    select * from requests
    qualify row_number() over (partition by eval_run_id order by artifact_id) = 1

),

first_listings as (

    select * from dashboard_runs
    qualify row_number() over (partition by eval_run_id order by artifact_id, run_index) = 1

),

run_ids as (

    select eval_run_id from verdicts
    union distinct
    select eval_run_id from requests
    union distinct
    select eval_run_id from generated_samples
    union distinct
    select eval_run_id from scoring_results

),

sample_marks as (

    select
        eval_run_id,
        count(*) as n_generated,
        coalesce(bool_or(rewrite_mode is not null or submit_marker is not null), false) as has_submit_protocol
    from generated_samples
    group by eval_run_id

),

scoring_marks as (

    select
        eval_run_id,
        count(*) as n_lines,
        count(*) filter (where scored) as n_scored,
        coalesce(bool_or(scoring_mode = 'graded_20'), false) as has_letters,
        coalesce(
            bool_or(king_amputated_thinking is not null or challenger_amputated_thinking is not null), false
        ) as has_amputated,
        min(scoring_mode) as scoring_mode
    from scoring_results
    group by eval_run_id

),

question_marks as (

    select
        eval_run_id,
        count(*) as n_questions,
        coalesce(bool_or(weight is not null), false) as has_weights,
        coalesce(bool_or(tag in ('reference:grounding', 'reference:claims')), false) as has_v4_tags,
        coalesce(bool_or(starts_with(tag, 'reference:') or starts_with(tag, 'behavior:')), false) as has_prefixed_tags,
        coalesce(bool_or(tag <> ''), false) as has_tags,
        coalesce(bool_or(category is not null), false) as has_categories
    from questions
    group by eval_run_id

),

judge_marks as (

    select
        eval_run_id,
        coalesce(bool_or(looped), false) as has_looped,
        coalesce(bool_or(repeats is not null), false) as has_repeats,
        coalesce(bool_or(metric_scores is not null), false) as has_metrics
    from judge_results
    group by eval_run_id

),

described as (

    select
        run_ids.eval_run_id,
        first_listings.finished_at,
        coalesce(first_requests.submission_id, first_listings.submission_id) as submission_id,
        first_listings.coronated,
        coalesce(first_requests.king_model_uri, first_listings.king_model_uri) as king_model,
        coalesce(first_requests.challenger_model_uri, first_listings.challenger_model_uri) as challenger_model,
        coalesce(first_verdicts.score_king, first_listings.score_king) as score_king,
        coalesce(first_verdicts.score_challenger, first_listings.score_challenger) as score_challenger,
        coalesce(first_verdicts.challenger_won, first_listings.challenger_won) as challenger_won,
        coalesce(first_verdicts.required_win_margin, first_listings.required_win_margin) as required_win_margin,
        -- A run without a verdict file counts as succeeded.
        coalesce(first_verdicts.state, 'succeeded') as state,
        first_verdicts.fault_class,
        first_verdicts.fault_code,
        first_verdicts.fault_message,
        coalesce(first_verdicts.scoring_mode, scoring_marks.scoring_mode, first_listings.scoring_mode) as scoring_mode,
        first_requests.sample_count as n_requested,
        coalesce(sample_marks.n_generated, 0) as n_samples,
        coalesce(scoring_marks.n_lines, 0) as n_scoring_lines,
        coalesce(scoring_marks.n_scored, 0) as n_scored,
        coalesce(judge_marks.has_looped, false) as has_looped,
        coalesce(question_marks.n_questions, 0) as n_questions,
        coalesce(question_marks.has_weights, false) as has_weights,
        coalesce(question_marks.has_tags, false) as has_tags,
        case
            when scoring_marks.has_letters or first_verdicts.scoring_mode = 'graded_20' then 'V5b'
            when question_marks.has_weights or judge_marks.has_repeats then 'V5a'
            when question_marks.has_v4_tags or scoring_marks.has_amputated or sample_marks.has_submit_protocol
                then 'V4'
            when question_marks.has_prefixed_tags then 'V3'
            when question_marks.has_tags then 'V2'
            when
                question_marks.has_categories
                and cast(first_listings.finished_at as date) >= cast('2026-08-01' as date)
                then 'V2'
            when question_marks.has_categories then 'V1'
            when judge_marks.has_metrics then 'V0'
        end as era_of_marks
    from run_ids
    left join first_verdicts on run_ids.eval_run_id = first_verdicts.eval_run_id
    left join first_requests on run_ids.eval_run_id = first_requests.eval_run_id
    left join first_listings on run_ids.eval_run_id = first_listings.eval_run_id
    left join sample_marks on run_ids.eval_run_id = sample_marks.eval_run_id
    left join scoring_marks on run_ids.eval_run_id = scoring_marks.eval_run_id
    left join question_marks on run_ids.eval_run_id = question_marks.eval_run_id
    left join judge_marks on run_ids.eval_run_id = judge_marks.eval_run_id

),

-- The marks say the era; within it the run's date decides, then the margin it was decided by, then whether sides
-- were zeroed for looping, then the era's last version. A run without marks is placed by its date alone.
ranked as (

    select
        described.eval_run_id,
        rulesets.ruleset_id,
        row_number() over (
            partition by described.eval_run_id
            order by
                case
                    when
                        cast(described.finished_at as date) >= coalesce(rulesets.valid_from, cast('0001-01-01' as date))
                        and cast(described.finished_at as date)
                        < coalesce(rulesets.valid_to, cast('9999-12-31' as date))
                        then 0
                    else 1
                end asc,
                case when described.required_win_margin = rulesets.margin then 0 else 1 end asc,
                case when described.has_looped and not rulesets.loop_zeroes then 1 else 0 end asc,
                rulesets.valid_from desc nulls last,
                rulesets.ruleset_id asc
        ) as preference
    from described
    inner join rulesets
        on
            described.era_of_marks = rulesets.era
            or (
                described.era_of_marks is null
                and cast(described.finished_at as date) >= coalesce(rulesets.valid_from, cast('0001-01-01' as date))
                and cast(described.finished_at as date) < coalesce(rulesets.valid_to, cast('9999-12-31' as date))
                and rulesets.era not in ('V5a', 'V5b')
            )

),

own_rulesets as (

    select
        eval_run_id,
        ruleset_id
    from ranked
    where preference = 1

),

int_duel_runs as (

    select
        described.eval_run_id,
        described.finished_at,
        described.submission_id,
        described.coronated,
        described.king_model,
        described.challenger_model,
        described.score_king,
        described.score_challenger,
        described.challenger_won,
        described.required_win_margin,
        described.state,
        described.fault_class,
        described.fault_code,
        described.fault_message,
        described.scoring_mode,
        described.n_requested,
        described.n_samples,
        described.n_scoring_lines,
        described.n_scored,
        described.n_questions,
        described.has_weights,
        described.has_tags,
        described.era_of_marks as era,
        own_rulesets.ruleset_id as own_ruleset_id,
        {% if forced_ruleset -%}
        coalesce('{{ forced_ruleset }}', own_rulesets.ruleset_id) as ruleset_id
        {%- else -%}
        own_rulesets.ruleset_id
        {%- endif %}
    from described
    left join own_rulesets on described.eval_run_id = own_rulesets.eval_run_id

)

select * from int_duel_runs
