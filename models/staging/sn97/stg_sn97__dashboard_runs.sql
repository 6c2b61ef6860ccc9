with source as (

    select * from {{ landed('sn97', 'dashboard_runs') }}

),

renamed as (

    select
        ----------  ids
        artifact_id,
        line,
        run_index,
        eval_run_id,
        submission_id,

        ----------  strings
        challenger_model_uri,
        {{ model_uri_columns('challenger_model_uri', 'challenger_') }},
        challenger_hotkey,
        king_model_uri,
        {{ model_uri_columns('king_model_uri', 'king_') }},
        king_hotkey,
        scoring_mode,

        ----------  numerics
        king_version,
        score_king,
        score_challenger,
        win_margin,
        challenger_uid,
        reigning_king_version,
        king_uid,
        total_turns,
        valid_turns,
        sample_count,
        scored_sample_count,
        king_generation_errors,
        challenger_generation_errors,
        judge_errors,
        required_win_margin,

        ----------  booleans
        challenger_won,
        coronated,

        ----------  timestamps
        finished_at as finished_at_text,
        {{ utc_timestamp('finished_at') }} as finished_at,

        ----------  documents
        cast(pass_margins as json) as pass_margins,
        cast(score_breakdown as json) as score_breakdown,
        cast(artifacts as json) as artifacts,
        cast(other_fields as json) as other_fields
    from source

)

select * from renamed
