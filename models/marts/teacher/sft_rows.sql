{%- set ending_characters = var('common_ending_characters') -%}
with kept as (

    select * from {{ ref('int_turn_candidates') }}
    where verdict = 'kept'

),

agreement as (

    select * from {{ ref('reference_agreement') }}

),

repaired as (

    select * from {{ ref('int_selected_repaired') }}

),

prompts as (

    select
        corpus_epoch,
        turn_id,
        prompt
    from {{ landed('steps', 'teacher_prompts', made_by='int_turn_prompts') }}

),

endings as (

    select
        kept.corpus_epoch,
        right(repaired.thought, {{ ending_characters }}) as ending,
        count(*) as n_rows
    from kept
    inner join repaired
        on kept.corpus_epoch is not distinct from repaired.corpus_epoch and kept.turn_id = repaired.turn_id
    group by kept.corpus_epoch, right(repaired.thought, {{ ending_characters }})

),

sft_rows as (

    select
        prompts.prompt,
        repaired.completion,
        repaired.thought,
        repaired.action,
        kept.teacher_lift,
        agreement.n_pool_refs,
        agreement.modal_share,
        agreement.modal_action_share,
        agreement.modal_norm_share,
        agreement.n_distinct_actions,
        repaired.clean_flags,
        kept.turn_id,
        kept.traj_id,
        kept.stratum,
        coalesce(kept.source, '') as source,
        coalesce(kept.language, '') as language,
        coalesce(kept.phase, '') as phase,
        kept.n_prefix_chars,
        kept.n_prefix_tokens,
        kept.corpus_epoch as duel_epoch,
        agreement.challenge_id,
        agreement.ref_index,
        agreement.manifest_sha256,
        agreement.artifact_id,
        not list_contains(repaired.clean_flags, 'multi_bash_first') as lift_describes_action,
        endings.n_rows as n_rows_with_ending,
        endings.n_rows >= {{ var('common_ending_rows') }} as has_common_ending,
        kept.round_trips
    from kept
    inner join agreement
        on kept.corpus_epoch is not distinct from agreement.corpus_epoch and kept.turn_id = agreement.turn_id
    inner join repaired
        on kept.corpus_epoch is not distinct from repaired.corpus_epoch and kept.turn_id = repaired.turn_id
    inner join prompts
        on kept.corpus_epoch is not distinct from prompts.corpus_epoch and kept.turn_id = prompts.turn_id
    inner join endings
        on
            kept.corpus_epoch is not distinct from endings.corpus_epoch
            and right(repaired.thought, {{ ending_characters }}) = endings.ending

)

select * from sft_rows
