with source as (

    select * from {{ landed('sn97', 'verdicts') }}

),

renamed as (

    select
        ----------  ids
        artifact_id,
        line,
        eval_run_id,
        stated_eval_run_id,

        ----------  strings
        state,
        scoring_mode,
        fault_class,
        fault_code,
        fault_message,

        ----------  numerics
        score_king,
        score_challenger,
        judge_count,
        valid_turns,
        total_turns,
        sample_count,
        generated_sample_count,
        scored_sample_count,
        king_generation_errors,
        challenger_generation_errors,
        judge_errors,
        required_win_margin,

        ----------  booleans
        challenger_won,
        retryable,

        ----------  documents
        cast(allowed_scores as json) as allowed_scores,
        cast(gpu_topology as json) as gpu_topology,
        cast(score_breakdown as json) as score_breakdown,
        cast(artifacts as json) as artifacts,
        cast(artifact_metadata as json) as artifact_metadata,
        cast(other_fields as json) as other_fields
    from source

)

select * from renamed
