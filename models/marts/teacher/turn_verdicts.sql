with candidates as (

    select * from {{ ref('int_turn_candidates') }}

),

turn_verdicts as (

    select
        corpus_epoch,
        turn_id,
        traj_id,
        verdict,
        drop_reason,
        teacher_lift,
        clean_flags,
        n_thought_chars,
        shell_valid,
        shell_checked_by,
        round_trips,
        n_prefix_chars,
        n_prompt_chars,
        n_prefix_tokens,
        manifest_found_by,
        prompt_fault
    from candidates

)

select * from turn_verdicts
order by corpus_epoch, turn_id
