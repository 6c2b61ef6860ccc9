with sides_of_duels as (

    select
        duel_sides.side_id,
        'sn97' as source,
        duel_sides.artifact_id,
        duel_sides.line,
        duel_sides.side,
        duel_sides.side as text_side,
        duel_sides.eval_run_id,
        duel_sides.sample_id,
        duel_sides.rollout,
        duel_sides.model,
        duel_sides.instance_id,
        duel_sides.n_turns,
        duel_sides.is_counted,
        duel_sides.run_state = 'succeeded' as run_succeeded,
        duel_sides.scored,
        duel_sides.score,
        case
            when duel_sides.looped_stored or duel_sides.looped then false
            when duel_sides.looped_stored is null and duel_sides.looped is null then null
            when duel_sides.text_source is null or duel_sides.text_source = 'none' then null
            else true
        end as not_looped,
        case
            when duel_sides.text_source is null or duel_sides.text_source = 'none' then 'the side has no text'
        end as loop_unknown_because,
        case when duel_sides.n_cmds > 0 then duel_sides.dup_cmd_ratio end as dup_cmd_ratio,
        case when duel_sides.n_cmds is null then 'the side has no text' end as duplicates_unknown_because,
        duel_sides.max_cmd_run,
        duel_sides.text_source = 'messages' as has_messages,
        cast(null as boolean) as verified
    from {{ ref('sides') }} as duel_sides

),

trajectories as (

    select * from {{ ref('stg_trajectories__trajectories') }}

),

-- A source says which results are verified where any row of the file says it; one that does not asks nothing.
sides_of_trajectories as (

    select
        {{ trajectory_name('trajectories') }} as side_id,
        trajectories.source,
        trajectories.artifact_id,
        trajectories.line,
        'agent' as side,
        coalesce(trajectories.instance_id, {{ trajectory_name('trajectories') }}) as instance_id,
        trajectories.model,
        true as has_messages,
        case
            when count(trajectories.verified) over (partition by trajectories.artifact_id) > 0
                then trajectories.verified
            else true
        end as verified
    from trajectories

),

sides as (

    select * from sides_of_duels
    union all by name
    select * from sides_of_trajectories

),

endings as (

    select
        side_id,
        count(*) as n_turns,
        max_by(is_submission, turn) as ends_in_submission
    from {{ ref('int_turns') }}
    group by side_id

),

mix_sides as (

    select
        sides.* exclude (n_turns),
        coalesce(sides.n_turns, endings.n_turns, 0) as n_turns,
        endings.ends_in_submission
    from sides
    left join endings on sides.side_id = endings.side_id

)

select * from mix_sides
