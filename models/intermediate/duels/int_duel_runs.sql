{%- set forced_ruleset = var('ruleset') | replace("'", "''") -%}
with files as (

    select * from {{ ref('int_run_files') }}
    where is_counted

),

verdicts as (

    select
        verdicts.* exclude (eval_run_id), -- noqa: RF02
        files.eval_run_id
    from {{ ref('stg_sn97__verdicts') }} as verdicts
    inner join files on verdicts.artifact_id = files.artifact_id

),

requests as (

    select
        requests.* exclude (eval_run_id), -- noqa: RF02
        files.eval_run_id
    from {{ ref('stg_sn97__requests') }} as requests
    inner join files on requests.artifact_id = files.artifact_id

),

-- The dashboard lists a run once; should a copy of it lie elsewhere in the tree, the first path counts.
listings as (

    select * from {{ ref('stg_sn97__dashboard_runs') }}
    qualify row_number() over (partition by eval_run_id order by artifact_id, run_index) = 1

),

rulesets as (

    select
        *,
        coalesce(valid_from, cast('0001-01-01' as date)) as first_day,
        coalesce(valid_to, cast('9999-12-31' as date)) as day_after
    from {{ ref('rulesets') }}

),

described as (

    select
        marks.eval_run_id,
        listings.finished_at,
        cast(listings.finished_at as date) as finished_on,
        coalesce(requests.submission_id, listings.submission_id) as submission_id,
        listings.coronated,
        coalesce(requests.king_model_uri, listings.king_model_uri) as king_model,
        coalesce(requests.challenger_model_uri, listings.challenger_model_uri) as challenger_model,
        coalesce(verdicts.score_king, listings.score_king) as score_king,
        coalesce(verdicts.score_challenger, listings.score_challenger) as score_challenger,
        coalesce(verdicts.challenger_won, listings.challenger_won) as challenger_won,
        coalesce(verdicts.required_win_margin, listings.required_win_margin) as required_win_margin,
        -- A run without a verdict file counts as succeeded.
        coalesce(verdicts.state, 'succeeded') as state,
        verdicts.fault_class,
        verdicts.fault_code,
        verdicts.fault_message,
        coalesce(verdicts.scoring_mode, marks.scoring_mode, listings.scoring_mode) as scoring_mode,
        requests.sample_count as n_requested,
        marks.n_samples,
        marks.n_scoring_lines,
        marks.n_scored,
        marks.has_looped,
        marks.n_questions,
        marks.has_weights,
        marks.has_tags,
        case
            when marks.has_letters or verdicts.scoring_mode = 'graded_20' then 'V5b'
            when marks.has_weights or marks.has_repeats then 'V5a'
            when marks.has_v4_tags or marks.has_amputated or marks.has_submit_protocol then 'V4'
            when marks.has_prefixed_tags then 'V3'
            when marks.has_tags then 'V2'
            when marks.has_categories and cast(listings.finished_at as date) >= cast('2026-08-01' as date) then 'V2'
            when marks.has_categories then 'V1'
            when marks.has_metrics then 'V0'
        end as era
    from {{ ref('int_run_marks') }} as marks
    left join verdicts on marks.eval_run_id = verdicts.eval_run_id
    left join requests on marks.eval_run_id = requests.eval_run_id
    left join listings on marks.eval_run_id = listings.eval_run_id

),

-- The marks say the era; within it the run's date decides, then the margin it was decided by, then whether sides
-- were zeroed for looping, then the era's last version. A run without marks is placed by its date alone.
own_rulesets as (

    select
        described.eval_run_id,
        rulesets.ruleset_id
    from described
    inner join rulesets
        on
            described.era = rulesets.era
            or (
                described.era is null
                and described.finished_on >= rulesets.first_day
                and described.finished_on < rulesets.day_after
                and rulesets.era not in ('V5a', 'V5b')
            )
    qualify
        row_number() over (
            partition by described.eval_run_id
            order by
                case
                    when described.finished_on >= rulesets.first_day and described.finished_on < rulesets.day_after
                        then 0
                    else 1
                end asc,
                case when described.required_win_margin = rulesets.margin then 0 else 1 end asc,
                case when described.has_looped and not rulesets.loop_zeroes then 1 else 0 end asc,
                rulesets.valid_from desc nulls last,
                rulesets.ruleset_id asc
        ) = 1

),

int_duel_runs as (

    select
        described.* exclude (finished_on, has_looped), -- noqa: RF02
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
