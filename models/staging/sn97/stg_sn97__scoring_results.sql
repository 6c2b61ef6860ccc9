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
        {{ as_json('question_source') }} as question_source,
        {{ as_json('judging_order') }} as judging_order,
        {{ as_json('categories') }} as categories,
        {{ as_json('category_source') }} as category_source,
        {{ as_json('other_fields') }} as other_fields
    from source

)

select * from renamed
