with source as (

    select
        'current' as format,
        *
    from {{ landed('sn97', 'judge_results') }}
    union all by name
    select
        'legacy' as format,
        0 as judge_index,
        *
    from {{ landed('sn97', 'legacy_judge_results') }}

),

renamed as (

    select
        ----------  ids
        artifact_id,
        line,
        eval_run_id,
        stated_eval_run_id,
        sample_id,
        {{ sample_id_columns('sample_id') }},
        judge_index,
        side,

        ----------  strings
        format,
        judge_model,
        provider,
        error,
        corruption_reason,

        ----------  numerics
        sample_score,
        yes_rate,
        repeats,
        repeats_held,
        disputed,
        judge_mean,
        n_answers,

        ----------  booleans
        parse_ok,
        corrupted,
        looped,

        ----------  documents
        cast(judging_order as json) as judging_order,
        cast(loop_reasons as json) as loop_reasons,
        cast(loop_commands as json) as loop_commands,
        cast(metric_scores as json) as metric_scores,
        cast(other_fields as json) as other_fields
    from source

)

select * from renamed
