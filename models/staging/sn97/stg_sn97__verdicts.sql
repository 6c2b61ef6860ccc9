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
        {{ as_json('allowed_scores') }} as allowed_scores,
        {{ as_json('gpu_topology') }} as gpu_topology,
        {{ as_json('score_breakdown') }} as score_breakdown,
        {{ as_json('artifacts') }} as artifacts,
        {{ as_json('artifact_metadata') }} as artifact_metadata,
        {{ as_json('other_fields') }} as other_fields
    from source

)

select * from renamed
