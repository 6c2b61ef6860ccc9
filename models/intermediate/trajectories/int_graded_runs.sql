with int_graded_runs as (

    select distinct eval_run_id
    from {{ ref('stg_sn97__scoring_results') }}
    where scoring_mode = 'graded_20'

)

select * from int_graded_runs
