with questions as (

    select * from {{ ref('stg_sn97__questions') }}

),

scoring_lines as (

    select * from {{ ref('int_scoring_lines') }}

),

int_scorer_checklists as (

    select
        questions.artifact_id || '#' || cast(questions.line as varchar) as checklist_id,
        questions.artifact_id,
        questions.line,
        questions.question_index,
        questions.question_id,
        questions.text as question,
        coalesce(questions.tag, questions.category, '') as tag,
        coalesce(questions.requires, '') as requires,
        questions.step,
        count(*) over (partition by questions.artifact_id, questions.line) as n_questions
    from questions
    inner join scoring_lines
        on
            questions.artifact_id = scoring_lines.artifact_id
            and questions.line = scoring_lines.line

)

select * from int_scorer_checklists
