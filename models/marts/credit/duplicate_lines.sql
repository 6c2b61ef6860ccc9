with generated_lines as (

    select * from {{ ref('int_generated_lines') }}

),

scoring_lines as (

    select * from {{ ref('int_scoring_lines') }}

),

duplicate_lines as (

    select
        'generated_samples' as kind,
        artifact_id,
        line,
        eval_run_id,
        published_sample_id as sample_id,
        nth_line_of_id,
        reason
    from generated_lines
    where reason is not null
    union all
    select
        'scoring_results' as kind,
        artifact_id,
        line,
        eval_run_id,
        published_sample_id as sample_id,
        nth_line_of_id,
        reason
    from scoring_lines
    where reason is not null

)

select * from duplicate_lines
