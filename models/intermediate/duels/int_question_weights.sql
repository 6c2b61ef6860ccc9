with questions as (

    select * from {{ ref('stg_sn97__questions') }}

),

tag_weights as (

    select * from {{ ref('tag_weights') }}

),

tables as (

    select distinct tag_weights_id
    from tag_weights

),

matched as (

    select
        questions.artifact_id,
        questions.line,
        questions.question_index,
        questions.question_id,
        tables.tag_weights_id,
        questions.weight as stamped_weight,
        tag_weights.weight,
        row_number() over (
            partition by
                questions.artifact_id, questions.line, questions.question_index, tables.tag_weights_id
            -- The category decides before all (V1 weighs `size` 0 whatever it requires), then the longest pattern.
            order by
                tag_weights.weight is null,
                case tag_weights.field when 'category' then 0 else 1 end,
                length(tag_weights.pattern) desc,
                tag_weights.pattern
        ) as preference
    from questions
    cross join tables
    left join tag_weights
        on
            tables.tag_weights_id = tag_weights.tag_weights_id
            and case tag_weights.field
                when 'tag' then coalesce(questions.tag, '')
                when 'requires' then coalesce(questions.requires, '')
                else coalesce(questions.category, '')
            end like replace(replace(tag_weights.pattern, '_', '\_'), '*', '%') escape '\'

),

int_question_weights as (

    select
        artifact_id,
        line,
        question_index,
        question_id,
        tag_weights_id,
        coalesce(weight, 0.0) as weight
    from matched
    where preference = 1
    union all
    select
        artifact_id,
        line,
        question_index,
        question_id,
        'stamped' as tag_weights_id,
        coalesce(weight, 0.0) as weight
    from questions

)

select * from int_question_weights
