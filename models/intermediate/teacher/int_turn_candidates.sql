with agreement as (

    select * from {{ ref('int_reference_agreement') }}

),

repaired as (

    select * from {{ ref('int_selected_repaired') }}

),

places as (

    select * from {{ ref('int_turn_places') }}

),

prompts as (

    select * from {{ ref('int_turn_prompts') }}

),

tokens as (

    select * from {{ ref('int_prompt_tokens') }}

),

joined as (

    select
        agreement.corpus_epoch,
        agreement.turn_id,
        agreement.teacher_lift,
        repaired.is_blank,
        repaired.has_environment_turn,
        repaired.shell_valid,
        repaired.shell_checked_by,
        repaired.shell_fault,
        repaired.n_thought_chars,
        repaired.round_trips,
        repaired.clean_flags,
        repaired.completion_key,
        places.traj_id,
        coalesce(prompts.stratum, places.stratum) as stratum,
        places.source,
        places.language,
        places.phase,
        coalesce(places.n_prefix_chars, prompts.n_counted_prefix_chars) as n_prefix_chars,
        places.manifest_found_by,
        prompts.prompt_key,
        prompts.n_prompt_chars,
        tokens.n_prefix_tokens,
        coalesce(places.fault, prompts.fault, tokens.fault) as prompt_fault
    from agreement
    inner join repaired
        on
            agreement.corpus_epoch is not distinct from repaired.corpus_epoch
            and agreement.turn_id = repaired.turn_id
    inner join places
        on
            agreement.corpus_epoch is not distinct from places.corpus_epoch
            and agreement.turn_id = places.turn_id
    left join prompts
        on
            agreement.corpus_epoch is not distinct from prompts.corpus_epoch
            and agreement.turn_id = prompts.turn_id
    left join tokens
        on
            agreement.corpus_epoch is not distinct from tokens.corpus_epoch
            and agreement.turn_id = tokens.turn_id

),

filtered as (

    select
        *,
        case
            when is_blank then 'blank'
            when teacher_lift <= 0 then 'lift_not_positive'
            when has_environment_turn then 'environment_turn_in_thought'
            when not shell_valid then 'invalid_shell'
            when n_thought_chars < {{ var('min_thought_characters') }} then 'thought_under_80'
            when n_prefix_tokens > {{ var('max_prompt_tokens') }} then 'prompt_over_30000_tokens'
            when not round_trips then 'round_trip_fails'
        end as failed_filter,
        -- Only asked where no filter is known to fail: what cannot be decided never passes.
        case
            when teacher_lift is null then 'lift_unknown'
            when shell_valid is null then coalesce(shell_fault, 'shell_unknown')
            when n_prefix_tokens is null then coalesce(prompt_fault, 'prompt_unknown')
        end as unknown_reason
    from joined

),

numbered as (

    select
        *,
        case
            when failed_filter is null and unknown_reason is null
                then
                    row_number() over (
                        partition by
                            corpus_epoch,
                            failed_filter is null and unknown_reason is null,
                            prompt_key,
                            completion_key
                        order by turn_id
                    )
        end as nth_of_pair
    from filtered

),

int_turn_candidates as (

    select
        corpus_epoch,
        turn_id,
        case
            when failed_filter is not null or nth_of_pair > 1 then 'dropped'
            when unknown_reason is not null then 'unknown'
            else 'kept'
        end as verdict,
        case
            when failed_filter is not null then failed_filter
            when unknown_reason is not null then unknown_reason
            when nth_of_pair > 1 then 'duplicate_pair'
        end as drop_reason,
        teacher_lift,
        clean_flags,
        n_thought_chars,
        shell_valid,
        shell_checked_by,
        round_trips,
        traj_id,
        stratum,
        source,
        language,
        phase,
        n_prefix_chars,
        n_prompt_chars,
        n_prefix_tokens,
        manifest_found_by,
        prompt_fault
    from numbered

)

select * from int_turn_candidates
