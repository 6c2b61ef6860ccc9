with source as (

    select * from {{ landed('sn120', 'duels') }}

),

renamed as (

    select
        ----------  ids
        artifact_id,
        line,
        challenge_id,
        {{ challenge_number('challenge_id') }} as challenge_number,
        job_id,

        ----------  strings
        king_repo,
        king_revision,
        challenger_repo,
        challenger_revision,
        challenger_hotkey,
        block_hash,
        slice_digest,
        slice_block_hash,
        manifest_sha256,
        view_spec,
        corpus_base_url,
        ranking_formula,
        rejection_reason,
        verdict_rejection_reason,

        ----------  numerics
        challenger_weight_bytes,
        slice_seed,
        slice_n,
        corpus_epoch,
        margin,
        se,
        z,
        k_sigma,
        min_margin,
        n_paired_turns,
        n_turn_ids,
        n_turns_with_references,
        n_teacher_references,
        n_king_rows,
        n_challenger_rows,
        n_record_bytes,

        ----------  booleans
        challenger_wins,

        ----------  documents
        cast(dialects as json) as dialects,
        cast(duel_params as json) as duel_params,
        cast(gates as json) as gates,
        cast(king as json) as king,
        cast(challenger as json) as challenger,
        cast(teacher as json) as teacher,
        cast(verdict as json) as verdict,
        cast(other_fields as json) as other_fields
    from source

)

select * from renamed
