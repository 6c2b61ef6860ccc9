with source as (

    select
        'current' as format,
        *
    from {{ landed('sn97', 'answers') }}
    union all by name
    select
        'legacy' as format,
        0 as judge_index,
        *
    from {{ landed('sn97', 'legacy_answers') }}

),

letter_grades as (

    select
        letter,
        value
    from {{ ref('letter_grades') }}

),

scalars as (

    select
        *,
        cast(answer as json) ->> '$' as answer_text,
        {{ json_kind('answer') }} as answer_kind
    from source

),

scaled as (

    select
        *,
        {{ answer_scale('answer_text', 'answer_kind') }} as answer_scale
    from scalars

),

renamed as (

    select
        ----------  ids
        scaled.artifact_id,
        scaled.line,
        scaled.eval_run_id,
        scaled.sample_id,
        {{ sample_id_columns('scaled.sample_id') }},
        scaled.judge_index,
        scaled.side,
        scaled.question_id,

        ----------  strings
        scaled.format,
        scaled.judge_model,
        scaled.explanation,
        scaled.answer_text,
        scaled.answer_scale,

        ----------  numerics
        scaled.score,
        {{ answer_value('scaled.answer_scale', 'scaled.answer_text', 'letter_grades.value') }}
            as answer_value,

        ----------  booleans
        scaled.answer is not null as is_answered,

        ----------  documents
        cast(scaled.answer as json) as answer,
        cast(scaled.distribution as json) as distribution
    from scaled
    left join letter_grades
        on scaled.answer_scale = 'graded_20' and scaled.answer_text = letter_grades.letter

)

select * from renamed
