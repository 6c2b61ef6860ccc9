with source as (

    select * from {{ landed('sn97', 'scoring_results') }}

),

renamed as (

    select
        ----------  ids
        artifact_id,
        line,
        eval_run_id,
        sample_id,
        {{ sample_id_columns('sample_id') }},

        ----------  strings
        scoring_mode,
        error,

        ----------  numerics
        king_score,
        challenger_score,
        n_questions,
        n_judge_results,
        sample_score,

        ----------  booleans
        king_amputated_thinking,
        challenger_amputated_thinking,
        scored,

        ----------  documents
        cast(question_source as json) as question_source,
        cast(judging_order as json) as judging_order,
        cast(categories as json) as categories,
        cast(category_source as json) as category_source,
        cast(other_fields as json) as other_fields
    from source

)

select * from renamed
