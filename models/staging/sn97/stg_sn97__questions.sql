with source as (

    select * from {{ landed('sn97', 'questions') }}

),

renamed as (

    select
        ----------  ids
        artifact_id,
        line,
        eval_run_id,
        sample_id,
        {{ sample_id_columns('sample_id') }},
        question_index,
        question_id,

        ----------  strings
        text,
        example_bad,
        requires,
        category,
        tag,
        evidence,
        milestone,
        milestone_statement,

        ----------  numerics
        step,
        weight,
        rung,

        ----------  documents
        cast(other_fields as json) as other_fields
    from source

)

select * from renamed
