{#
    A CTE `of_…` is one row, a figure a column under its whole name (`__` for a dot); one `by_…` is a row a group, whose
    figures' names begin with its `section`. What another mart holds is read there: the mixes' figures are those of their files.
#}
with duel_mixes as (

    select
        kind,
        min_by(mix, position) as mix
    from {{ ref('mix_plan') }}
    where source = 'sn97'
    group by kind

),

of_runs as (

    select
        count(*) filter (where is_counted) as input__runs,
        count(*) filter (where not is_counted) as input__runs_failed,
        coalesce(sum(n_scored) filter (where is_counted), 0) as input__scored_lines
    from {{ ref('duels') }}

),

of_files as (

    select
        coalesce(sum(artifacts.bytes), 0) as input__bytes,
        coalesce(sum(artifacts.n_lines) filter (where artifacts.kind = 'generated_samples'), 0)
            as input__generated_lines
    from {{ ref('duels') }} as duels
    inner join {{ ref('artifacts') }} as artifacts
        on artifacts.artifact_id like 'sn97/%' || duels.eval_run_id || '/%'
    where duels.is_counted and artifacts.kind in ('generated_samples', 'scoring_results')

),

of_issues as (

    select count(*) as input__issues
    from (
        select artifact_id from {{ ref('quarantine') }}
        where artifact_id like 'sn97/%'
        union all
        select artifact_id from {{ ref('duplicate_lines') }}
    )

),

of_sides as (

    select
        count(*) filter (where not coalesce(sides.is_score_reproduced, false))
            as checks__sides_whose_score_is_not_reproduced,
        count(*) as corpus__sides,
        count(*) filter (where sides.looped_stored) as corpus__sides_looped,
        count(*) filter (where loops.looped_by_document) as corpus__sides_looped_by_document,
        count(*) filter (where loops.looped) as corpus__sides_looped_by_turns,
        count(*) filter (where sides.corrupted_stored) as corpus__sides_corrupted,
        count(*) filter (where sides.amputated_stored) as corpus__sides_amputated,
        sum(sides.n_questions) as corpus__questions,
        avg(sides.n_questions) as corpus__questions_per_side,
        avg(sides.n_turns) as corpus__turns_per_side
    from {{ ref('sides') }} as sides
    left join {{ ref('int_side_loops') }} as loops on sides.side_id = loops.side_id and loops.ruleset_id = 'seed'
    where sides.is_counted

),

of_turns as (

    select
        count(*) as corpus__turns,
        count(turns.failed) as corpus__observed_turns,
        count(*) filter (where turns.failed) as corpus__failed_turns,
        avg(cast(turns.failed as int)) as corpus__failed_share,
        count(*) filter (where turns.follows_failure) as corpus__turns_after_failure,
        avg(cast(turns.credit_split > 0 as int)) as corpus__earn_rate,
        avg(cast(turns.credit_split > 0 as int)) filter (where turns.follows_failure) as corpus__earn_after_failure,
        avg(cast(turns.credit_split > 0 as int)) filter (where not turns.follows_failure) as corpus__earn_after_ok,
        count(*) filter (where turns.is_recovery) as corpus__recovery_turns,
        count(*) filter (where turns.is_escape) as corpus__escape_turns,
        count(*) filter (where turns.is_escape and turns.follows_failure) as corpus__escape_by_fail,
        count(*) filter (where turns.is_escape and turns.leaves_repeats) as corpus__escape_by_repeat,
        max(turns.failures_before) filter (where turns.is_recovery) as corpus__fail_run_before_recovery__max,
        avg(turns.failures_before) filter (where turns.is_recovery) as corpus__fail_run_before_recovery__mean,
        avg(cast(mix_sides.passes as int)) filter (where turns.is_recovery)
            as credit_mix__recovery_captured_by_gated_sides
    from {{ ref('turns') }} as turns
    left join {{ ref('credit_mix_sides') }} as mix_sides on turns.side_id = mix_sides.side_id

),

of_answers as (

    select avg(cast(coalesce(is_yes, false) as int)) as corpus__yes_share
    from {{ ref('answers') }}
    where is_counted and not zeroed

),

of_explanations as (

    select
        max(cited_share) filter (where answers = 'all') as corpus__citation_share,
        max(cited_share) filter (where answers = 'yes') as corpus__citation_share_yes,
        max(n_dangling) filter (where answers = 'all') as corpus__dangling
    from {{ ref('citation_coverage') }}
    where form = 'strict'

),

of_conservation as (

    select coalesce(max(greatest(error_strict, error_extended)), 0.0) as checks__max_conservation_error
    from {{ ref('credit_conservation') }}

),

of_mix_sides as (

    select
        count(*) filter (where passes) as credit_mix__sides_passing_gates,
        count(*) filter (where is_selected) as credit_mix__after_dedupe
    from {{ ref('credit_mix_sides') }}

),

of_mixes as (

    select
        max(files.n_rows) filter (where duel_mixes.kind = 'credit') as credit_mix__rows,
        max(files.n_train_turns) filter (where duel_mixes.kind = 'credit') as credit_mix__train_turns,
        max(files.mean_score) filter (where duel_mixes.kind = 'credit') as credit_mix__mean_score,
        max(files.n_recovery_turns) filter (where duel_mixes.kind = 'credit') as credit_mix__recovery_turns,
        max(files.rows_with_recovery_share) filter (where duel_mixes.kind = 'credit') as credit_mix__rows_with_recovery,
        max(files.n_rows) filter (where duel_mixes.kind = 'escape') as escape_mix__rows,
        max(files.n_samples) filter (where duel_mixes.kind = 'escape') as escape_mix__unique_samples,
        max(escapes.after_failure_share) as escape_mix__by_fail,
        max(escapes.after_repeat_share) as escape_mix__by_repeat,
        max(escapes.from_rejected_share) as escape_mix__from_rejected_sides,
        max(escapes.max_failures_before) as escape_mix__fail_run_before__max,
        max(escapes.mean_failures_before) as escape_mix__fail_run_before__mean,
        max(files.n_rows) filter (where files.mix = 'final_v1') as combined__rows,
        max(files.n_train_turns) filter (where files.mix = 'final_v1') as combined__train_turns
    from {{ ref('mix_composition') }} as files
    left join duel_mixes on files.mix = duel_mixes.mix
    left join {{ ref('escape_statistics') }} as escapes on duel_mixes.mix = escapes.mix

),

by_group as (

    {% for mart, name, key in [
        ('credit_by_command', 'kind', 'command_kind'),
        ('credit_by_turn', 'turn', 'cast(turn as varchar)'),
    ] -%}
    select
        'corpus.credit_by_{{ name }}.' || {{ key }} as section,
        n_turns as turns,
        share_of_turns as share,
        mean_credit,
        earn_rate as earning
    from {{ ref(mart) }}
    {{ 'union all' if not loop.last }}
    {% endfor %}

),

by_command as (

    select
        duel_mixes.kind || '_mix.kinds.' || commands.command_kind as section,
        commands.n_turns as turns,
        commands.share_of_turns as share
    from duel_mixes
    inner join {{ ref('mix_commands') }} as commands on duel_mixes.mix = commands.mix

),

by_tag as (

    select
        'corpus.earned_tags.' || tag as section,
        n_pairs as pairs,
        n_pairs / sum(n_pairs) over () as share
    from {{ ref('credit_by_tag') }}
    where tag <> 'untagged' and n_pairs > 0
    union all
    select
        'credit_mix.earned_tags.' || tags.tag as section,
        tags.n_pairs as pairs,
        tags.share_of_pairs as share
    from duel_mixes
    inner join {{ ref('mix_tags') }} as tags on duel_mixes.mix = tags.mix
    where duel_mixes.kind = 'credit'

),

figures as (

    {% for part in [
        'of_runs', 'of_files', 'of_issues', 'of_sides', 'of_turns', 'of_answers', 'of_explanations', 'of_conservation',
        'of_mix_sides', 'of_mixes', 'by_group', 'by_command', 'by_tag',
    ] -%}
    select to_json({{ part }}) as figures
    from {{ part }}
    {{ 'union all' if not loop.last }}
    {% endfor %}

),

named as (

    select
        figures ->> 'section' as section,
        unnest(json_keys(figures)) as figure,
        figures ->> unnest(json_keys(figures)) as value
    from figures

),

-- Without any run there is nothing to say.
headlines as (

    select
        concat_ws('.', section, replace(figure, '__', '.')) as name,
        cast(value as double) as value
    from named
    where figure <> 'section' and exists (select 1 as found from {{ ref('duels') }})

)

select * from headlines
order by name asc
