with turns as (

    select
        sides.side_id,
        derived_turns.*
    from {{ ref('int_turns_derived') }} as derived_turns
    inner join {{ ref('int_sides_derived') }} as sides
        on
            derived_turns.artifact_id = sides.artifact_id
            and derived_turns.line = sides.line
            and derived_turns.side = sides.side

),

-- A turn without a command equals no other: it ends a run and begins one that nothing continues.
runs_marked as (

    select
        *,
        case
            when command_key = lag(command_key) over side_turns then 0
            else 1
        end as starts_run,
        row_number() over (partition by side_id, command_key order by turn) as nth_of_command,
        case when failed then 0 else 1 end as ends_failures
    from turns
    window side_turns as (partition by side_id order by turn)

),

numbered as (

    select
        *,
        sum(starts_run) over side_turns as run_number,
        sum(ends_failures) over side_turns as failure_group
    from runs_marked
    window side_turns as (partition by side_id order by turn)

),

counted as (

    select
        *,
        row_number() over (partition by side_id, run_number order by turn) as run_length,
        sum(1 - ends_failures) over (partition by side_id, failure_group order by turn) as failures_in_a_row
    from numbered

),

looked_back as (

    select
        *,
        lag(failed) over side_turns as follows_failure,
        coalesce(lag(failures_in_a_row) over side_turns, 0) as failures_before,
        coalesce(lag(run_length) over side_turns, 0) as run_before,
        lag(command_key) over side_turns as command_key_before
    from counted
    window side_turns as (partition by side_id order by turn)

),

int_turns as (

    select
        side_id,
        side_id || '/' || cast(turn as varchar) as turn_id,
        artifact_id,
        line,
        side,
        turn,
        message_index,
        observation_message_index,
        command,
        command_key,
        command_kind,
        command_kind_first_word,
        second_stage,
        n_bash_blocks,
        think_state,
        is_submission,
        is_truncated,
        is_abandoned,
        has_observation,
        observation_format,
        returncode,
        failed,
        fail_reason,
        observation_truncated,
        n_characters,
        n_observation_characters,
        command_key is not null and nth_of_command > 1 as is_repeat,
        run_length,
        follows_failure,
        cast(failures_before as bigint) as failures_before,
        -- Equal commands in a row up to the turn before.
        case when command_key_before is null then 0 else run_before end as repeats_before,
        coalesce(
            command_key_before is not null
            and run_before >= {{ var('repeats_of_being_stuck') }}
            and command_key is distinct from command_key_before,
            false
        ) as leaves_repeats
    from looked_back

)

select * from int_turns
