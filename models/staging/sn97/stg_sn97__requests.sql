with source as (

    select * from {{ landed('sn97', 'requests') }}

),

renamed as (

    select
        ----------  ids
        artifact_id,
        line,
        eval_run_id,
        stated_eval_run_id,
        submission_id,

        ----------  strings
        king_model_uri,
        {{ model_uri_columns('king_model_uri', 'king_') }},
        king_model_hash,
        challenger_model_uri,
        {{ model_uri_columns('challenger_model_uri', 'challenger_') }},
        challenger_model_hash,
        dataset_version,
        manifest_uri,
        manifest_hash,
        sample_seed,
        sampling_algo,
        judge_config_hash,
        artifact_prefix,

        ----------  numerics
        king_version,
        sample_count,
        generation_batch_size,
        scoring_batch_size,
        judge_count,

        ----------  documents
        sample_ids,
        cast(allowed_scores as json) as allowed_scores,
        cast(gpu_request as json) as gpu_request,
        cast(other_fields as json) as other_fields
    from source

)

select * from renamed
