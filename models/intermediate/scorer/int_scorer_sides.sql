with turns as (

    select * from {{ ref('int_turns') }}

),

marked as (

    select
        *,
        sum(case when command_kind = 'edit' and not coalesce(failed, false) then 1 else 0 end)
            over (partition by side_id order by turn rows between unbounded preceding and 1 preceding) as edits_before
    from turns

),

int_scorer_sides as (

    select
        side_id,
        count(*) as n_turns,
        count(command) as n_commands,
        count(distinct command_key) as n_distinct_commands,
        max(run_length) as longest_run,
        count(*) filter (where is_repeat) as n_repeats,
        count(*) filter (where failed) as n_failed,
        max(failures_before) as longest_failures,
        count(*) filter (where command_kind = 'edit') as n_edits,
        count(*) filter (where command_kind = 'edit' and not coalesce(failed, false)) as n_edits_done,
        count(*) filter (where command_kind = 'pytest/python') as n_runs,
        count(*) filter (where command_kind = 'pytest/python' and not coalesce(failed, false)) as n_runs_passed,
        count(*) filter (where command_kind = 'pytest/python' and edits_before > 0) as n_runs_after_edit,
        count(*) filter (
            where command_kind = 'pytest/python' and edits_before > 0 and not coalesce(failed, false)
        ) as n_runs_passed_after_edit,
        count(*) filter (where command_kind in ('cat -n', 'sed -n', 'cat')) as n_reads,
        count(*) filter (where command_kind in ('grep', 'grep -r', 'find/ls')) as n_searches,
        count(*) filter (where command_kind = 'git') as n_git,
        count(*) filter (where is_submission) as n_submissions,
        count(*) filter (where n_bash_blocks <> 1) as n_turns_without_one_block,
        count(*) filter (where think_state = 'unclosed') as n_unclosed,
        count(*) filter (where is_truncated or is_abandoned) as n_notices,
        min(turn) filter (where command_kind = 'edit') as first_edit,
        max(turn) filter (where command_kind = 'edit') as last_edit,
        min(turn) filter (where command_kind = 'pytest/python') as first_run,
        sum(n_characters) as n_characters,
        sum(coalesce(length(command), 0)) as n_command_characters,
        sum(n_observation_characters) as n_observation_characters
    from marked
    group by side_id

)

select * from int_scorer_sides
