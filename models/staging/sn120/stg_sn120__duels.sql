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
        {{ as_json('dialects') }} as dialects,
        {{ as_json('duel_params') }} as duel_params,
        {{ as_json('gates') }} as gates,
        {{ as_json('king') }} as king,
        {{ as_json('challenger') }} as challenger,
        {{ as_json('teacher') }} as teacher,
        {{ as_json('verdict') }} as verdict,
        {{ as_json('other_fields') }} as other_fields
    from source

)

select * from renamed
