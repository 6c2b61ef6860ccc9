with trajectories as (

    select * from {{ ref('stg_mini_coder__trajectories') }}

),

turns as (

    select * from {{ ref('int_turns') }}

),

verdicts as (

    select * from {{ ref('int_mix_mini_turn_verdicts') }}
    where mix = 'finish_mini'

),

-- A source says which results are verified where any row of the file says it.
files as (

    select
        artifact_id,
        count(verified) > 0 as says_verified
    from trajectories
    group by artifact_id

),

endings as (

    select
        artifact_id,
        line,
        count(*) as n_turns,
        max_by(is_submission, turn) as ends_in_submission
    from turns
    group by artifact_id, line

),

windows as (

    select
        artifact_id,
        line,
        count(*) filter (where gate is null or gate not in ('after_cutoff', 'within_window')) as n_window_turns,
        count(*) filter (
            where (gate is null or gate not in ('after_cutoff', 'within_window')) and not is_repeat
        ) as n_tail_turns,
        count(*) filter (where gate is null) as n_train_turns,
        max(message_index) filter (where gate is null or gate <> 'within_window') as last_message_index
    from verdicts
    group by artifact_id, line

),

int_mix_finish_trajectories as (

    select
        {{ trajectory_name('trajectories') }} as trajectory_name,
        trajectories.artifact_id,
        trajectories.line,
        coalesce(trajectories.instance_id, {{ trajectory_name('trajectories') }}) as instance_id,
        coalesce(endings.n_turns, 0) as n_turns,
        endings.ends_in_submission,
        files.says_verified,
        trajectories.verified,
        coalesce(windows.n_window_turns, 0) as n_window_turns,
        coalesce(windows.n_tail_turns, 0) as n_tail_turns,
        coalesce(windows.n_train_turns, 0) as n_train_turns,
        windows.last_message_index
    from trajectories
    inner join files on trajectories.artifact_id = files.artifact_id
    left join endings on trajectories.artifact_id = endings.artifact_id and trajectories.line = endings.line
    left join windows on trajectories.artifact_id = windows.artifact_id and trajectories.line = windows.line

)

select * from int_mix_finish_trajectories
