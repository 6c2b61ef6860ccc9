{#- Published weights go up to 2; no number of rows makes sums of weights up to here leave the range of `exact_sum`. -#}
{%- set largest_weight = 1000000 -%}
with tag_weights as (

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
    from {{ ref('stg_sn97__questions') }} as questions
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

weighed as (

    select
        artifact_id,
        line,
        question_index,
        question_id,
        tag_weights_id,
        stamped_weight,
        coalesce(weight, 0.0) as weight
    from matched
    where preference = 1

),

-- Where a run stamps its questions, one without a stamp, or with one that is no weight, weighs what the table of the
-- run's era says.
stamped as (

    select
        weighed.artifact_id,
        weighed.line,
        weighed.question_index,
        weighed.question_id,
        'stamped' as tag_weights_id,
        case
            when weighed.stamped_weight between 0 and {{ largest_weight }} then weighed.stamped_weight
            else weighed.weight
        end as weight
    from weighed
    inner join {{ ref('stg_sn97__scoring_results') }} as scoring_results
        on
            weighed.artifact_id = scoring_results.artifact_id
            and weighed.line = scoring_results.line
    where weighed.tag_weights_id = case when scoring_results.scoring_mode = 'graded_20' then 'v5b' else 'v4' end

),

int_question_weights as (

    select * exclude (stamped_weight)
    from weighed
    union all by name
    select * from stamped

)

select * from int_question_weights
