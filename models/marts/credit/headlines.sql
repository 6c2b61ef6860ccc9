{# The mixes' figures are here as far as gates alone decide them; a test holds the files' rows and turns to the same. #}
with duels as (

    select * from {{ ref('duels') }}

),

artifacts as (

    select * from {{ ref('artifacts') }}

),

quarantine as (

    select * from {{ ref('quarantine') }}

),

duplicate_lines as (

    select * from {{ ref('duplicate_lines') }}

),

sides as (

    select * from {{ ref('sides') }}
    where is_counted

),

loops as (

    select * from {{ ref('int_side_loops') }}
    where ruleset_id = 'seed'

),

answers as (

    select * from {{ ref('answers') }}
    where is_counted

),

turns as (

    select * from {{ ref('turns') }}

),

commands as (

    select * from {{ ref('credit_by_command') }}

),

positions as (

    select * from {{ ref('credit_by_turn') }}

),

coverage as (

    select * from {{ ref('citation_coverage') }}

),

conservation as (

    select * from {{ ref('credit_conservation') }}

),

mix_sides as (

    select * from {{ ref('credit_mix_sides') }}

),

mix_verdicts as (

    select * from {{ ref('mix_turn_verdicts') }}

),

run_files as (

    select
        duels.eval_run_id,
        artifacts.kind,
        artifacts.bytes,
        artifacts.n_lines
    from duels
    inner join artifacts
        on artifacts.artifact_id like 'sn97/%' || duels.eval_run_id || '/%'
    where duels.is_counted and artifacts.kind in ('generated_samples', 'scoring_results')

),

run_counts as (

    select
        count(*) filter (where is_counted) as n_runs,
        count(*) filter (where not is_counted) as n_failed,
        coalesce(sum(n_scored) filter (where is_counted), 0) as n_scored
    from duels

),

file_counts as (

    select
        coalesce(sum(bytes), 0) as bytes,
        coalesce(sum(n_lines) filter (where kind = 'generated_samples'), 0) as n_generated
    from run_files

),

issues as (

    select artifact_id from quarantine
    where artifact_id like 'sn97/%'
    union all
    select artifact_id from duplicate_lines

),

issue_counts as (

    select count(*) as n_issues
    from issues

),

input_figures as (

    select
        {
            'runs': run_counts.n_runs,
            'runs_failed': run_counts.n_failed,
            'bytes': file_counts.bytes,
            'generated_lines': file_counts.n_generated,
            'scored_lines': run_counts.n_scored,
            'issues': issue_counts.n_issues
        } as figures
    from run_counts
    cross join file_counts
    cross join issue_counts

),

side_figures as (

    select
        count(*) as n_sides,
        count(*) filter (where sides.looped_stored) as n_looped,
        count(*) filter (where sides.corrupted_stored) as n_corrupted,
        count(*) filter (where sides.amputated_stored) as n_amputated,
        count(*) filter (where loops.looped_by_document) as n_looped_by_document,
        count(*) filter (where loops.looped) as n_looped_by_turns,
        sum(sides.n_questions) as n_questions,
        sum(sides.n_turns) as n_turns,
        count(*) filter (where not coalesce(sides.is_score_reproduced, false)) as n_not_reproduced
    from sides
    left join loops on sides.side_id = loops.side_id

),

turn_figures as (

    select
        count(*) as n_turns,
        count(failed) as n_observed,
        count(*) filter (where failed) as n_failed,
        count(*) filter (where credit_split > 0) as n_earning,
        count(*) filter (where follows_failure) as n_after_failure,
        count(*) filter (where follows_failure and credit_split > 0) as n_earning_after_failure,
        count(*) filter (where not follows_failure) as n_after_ok,
        count(*) filter (where not follows_failure and credit_split > 0) as n_earning_after_ok,
        count(*) filter (where is_recovery) as n_recovery,
        count(*) filter (where is_escape) as n_escape,
        count(*) filter (where is_escape and follows_failure) as n_escape_by_fail,
        count(*) filter (where is_escape and leaves_repeats) as n_escape_by_repeat,
        sum(failures_before) filter (where is_recovery) as failures_before_recovery,
        max(failures_before) filter (where is_recovery) as max_failures_before_recovery
    from turns

),

answer_figures as (

    select
        count(*) filter (where not zeroed) as n_asked,
        count(*) filter (where not zeroed and is_yes) as n_yes
    from answers

),

corpus_figures as (

    select
        {
            'sides': side_figures.n_sides,
            'sides_looped': side_figures.n_looped,
            'sides_looped_by_document': side_figures.n_looped_by_document,
            'sides_looped_by_turns': side_figures.n_looped_by_turns,
            'sides_corrupted': side_figures.n_corrupted,
            'sides_amputated': side_figures.n_amputated,
            'questions': side_figures.n_questions,
            'questions_per_side': {{ safe_div('side_figures.n_questions', 'side_figures.n_sides') }},
            'turns': turn_figures.n_turns,
            'turns_per_side': {{ safe_div('turn_figures.n_turns', 'side_figures.n_sides') }},
            'yes_share': {{ safe_div('answer_figures.n_yes', 'answer_figures.n_asked') }},
            'observed_turns': turn_figures.n_observed,
            'failed_turns': turn_figures.n_failed,
            'failed_share': {{ safe_div('turn_figures.n_failed', 'turn_figures.n_observed') }},
            'turns_after_failure': turn_figures.n_after_failure,
            'earn_rate': {{ safe_div('turn_figures.n_earning', 'turn_figures.n_turns') }},
            'earn_after_failure': {{ safe_div(
                'turn_figures.n_earning_after_failure', 'turn_figures.n_after_failure'
            ) }},
            'earn_after_ok': {{ safe_div('turn_figures.n_earning_after_ok', 'turn_figures.n_after_ok') }},
            'recovery_turns': turn_figures.n_recovery,
            'escape_turns': turn_figures.n_escape,
            'escape_by_fail': turn_figures.n_escape_by_fail,
            'escape_by_repeat': turn_figures.n_escape_by_repeat,
            'fail_run_before_recovery.max': turn_figures.max_failures_before_recovery,
            'fail_run_before_recovery.mean':
            {{ safe_div('turn_figures.failures_before_recovery', 'turn_figures.n_recovery') }}
        } as figures
    from side_figures
    cross join turn_figures
    cross join answer_figures

),

verdict_turns as (

    select
        mix_verdicts.*,
        turns.side_id,
        turns.command_kind,
        turns.tags,
        turns.is_recovery,
        turns.follows_failure,
        turns.leaves_repeats,
        turns.failures_before
    from mix_verdicts
    inner join turns on mix_verdicts.turn_id = turns.turn_id

),

credit_rows as (

    select
        mix_sides.eval_run_id,
        mix_sides.sample_id,
        mix_sides.rollout,
        mix_sides.side,
        mix_sides.score,
        count(*) as n_train_turns,
        count(*) filter (where verdict_turns.is_recovery) as n_recovery
    from mix_sides
    inner join verdict_turns on mix_sides.side_id = verdict_turns.side_id
    where verdict_turns.trains_in_credit_mix
    group by mix_sides.eval_run_id, mix_sides.sample_id, mix_sides.rollout, mix_sides.side, mix_sides.score

),

passing_sides as (

    select
        count(*) filter (where passes) as n_passing,
        count(*) filter (where is_selected) as n_selected
    from mix_sides

),

recoveries as (

    select
        count(*) as n_recovery,
        count(*) filter (where side_passes) as n_on_passing
    from verdict_turns
    where is_recovery

),

credit_row_counts as (

    select
        count(*) as n_rows,
        coalesce(sum(n_train_turns), 0) as n_train_turns,
        {{ safe_div('fsum(score order by eval_run_id, sample_id, rollout, side)', 'count(*)') }} as mean_score,
        coalesce(sum(n_recovery), 0) as n_recovery,
        count(*) filter (where n_recovery > 0) as n_with_recovery
    from credit_rows

),

credit_mix_figures as (

    select
        {
            'sides_passing_gates': passing_sides.n_passing,
            'after_dedupe': passing_sides.n_selected,
            'rows': credit_row_counts.n_rows,
            'train_turns': credit_row_counts.n_train_turns,
            'mean_score': credit_row_counts.mean_score,
            'recovery_turns': credit_row_counts.n_recovery,
            'rows_with_recovery': {{ safe_div('credit_row_counts.n_with_recovery', 'credit_row_counts.n_rows') }},
            'recovery_captured_by_gated_sides': {{ safe_div('recoveries.n_on_passing', 'recoveries.n_recovery') }}
        } as figures
    from passing_sides
    cross join recoveries
    cross join credit_row_counts

),

escape_mix_figures as (

    select
        {
            'rows': count(*),
            'unique_samples': count(distinct sample_id),
            'by_fail': {{ safe_div('count(*) filter (where follows_failure)', 'count(*)') }},
            'by_repeat': {{ safe_div('count(*) filter (where leaves_repeats)', 'count(*)') }},
            'from_rejected_sides': {{ safe_div('count(*) filter (where not side_passes)', 'count(*)') }},
            'fail_run_before.max': max(failures_before) filter (where follows_failure),
            'fail_run_before.mean': {{ safe_div(
                'sum(failures_before) filter (where follows_failure)', 'count(*) filter (where follows_failure)'
            ) }}
        } as figures
    from verdict_turns
    where passes_escape

),

scalars as (

    select
        'input' as section,
        to_json(figures) as figures
    from input_figures
    union all
    select
        'corpus' as section,
        to_json(figures) as figures
    from corpus_figures
    union all
    select
        'credit_mix' as section,
        to_json(figures) as figures
    from credit_mix_figures
    union all
    select
        'escape_mix' as section,
        to_json(figures) as figures
    from escape_mix_figures

),

scalar_rows as (

    select
        section || '.' || unnest(json_keys(figures)) as name,
        cast(figures ->> unnest(json_keys(figures)) as double) as value
    from scalars

),

kind_counts as (

    select
        'credit_mix' as section,
        command_kind,
        count(*) as n_turns
    from verdict_turns
    where trains_in_credit_mix
    group by command_kind
    union all
    select
        'escape_mix' as section,
        command_kind,
        count(*) as n_turns
    from verdict_turns
    where passes_escape
    group by command_kind

),

tagged as (

    select
        'corpus' as section,
        unnest(tags) as tag
    from turns
    union all
    select
        'credit_mix' as section,
        unnest(tags) as tag
    from verdict_turns
    where trains_in_credit_mix

),

tag_counts as (

    select
        section,
        tag,
        count(*) as n_pairs
    from tagged
    group by section, tag

),

grouped as (

    select
        'corpus.credit_by_kind.' || command_kind as name,
        [
            { 'measure': 'turns', 'value': cast(n_turns as double) },
            { 'measure': 'share', 'value': share_of_turns },
            { 'measure': 'mean_credit', 'value': mean_credit },
            { 'measure': 'earning', 'value': earn_rate }
        ] as measures
    from commands
    union all
    select
        'corpus.credit_by_turn.' || cast(turn as varchar) as name,
        [
            { 'measure': 'turns', 'value': cast(n_turns as double) },
            { 'measure': 'share', 'value': share_of_turns },
            { 'measure': 'mean_credit', 'value': mean_credit },
            { 'measure': 'earning', 'value': earn_rate }
        ] as measures
    from positions
    union all
    select
        section || '.kinds.' || command_kind as name,
        [
            { 'measure': 'turns', 'value': cast(n_turns as double) },
            { 'measure': 'share', 'value': n_turns / sum(n_turns) over (partition by section) }
        ] as measures
    from kind_counts
    union all
    select
        section || '.earned_tags.' || tag as name,
        [
            { 'measure': 'pairs', 'value': cast(n_pairs as double) },
            { 'measure': 'share', 'value': n_pairs / sum(n_pairs) over (partition by section) }
        ] as measures
    from tag_counts

),

grouped_rows as (

    select
        grouped.name || '.' || struct_extract(measures.measure, 'measure') as name,
        struct_extract(measures.measure, 'value') as value
    from grouped
    cross join unnest(grouped.measures) as measures (measure)

),

named as (

    select
        'checks.max_conservation_error' as name,
        coalesce(max(greatest(error_strict, error_extended)), 0.0) as value
    from conservation
    union all
    select
        'checks.sides_whose_score_is_not_reproduced' as name,
        cast(n_not_reproduced as double) as value
    from side_figures
    union all
    select
        case answers when 'all' then 'corpus.citation_share' else 'corpus.citation_share_yes' end as name,
        cited_share as value
    from coverage
    where form = 'strict' and answers in ('all', 'yes')
    union all
    select
        'corpus.dangling' as name,
        cast(n_dangling as double) as value
    from coverage
    where form = 'strict' and answers = 'all'
    union all
    select
        'combined.rows' as name,
        fsum(value order by name) as value
    from scalar_rows
    where name in ('credit_mix.rows', 'escape_mix.rows')
    union all
    select
        'combined.train_turns' as name,
        fsum(value order by name) as value
    from scalar_rows
    where name in ('credit_mix.train_turns', 'escape_mix.rows')
    union all
    select
        name,
        value
    from scalar_rows
    union all
    select
        name,
        value
    from grouped_rows

),

-- Without any run there is nothing to say.
headlines as (

    select
        name,
        value
    from named
    where exists (select 1 as found from duels)

)

select * from headlines
order by name asc
