with source as (

    select * from {{ landed('sn97', 'judge_results') }}

),

renamed as (

    select
        ----------  ids
        artifact_id,
        line,
        eval_run_id,
        sample_id,
        {{ sample_id_columns('sample_id') }},
        judge_index,
        side,

        ----------  strings
        judge_model,
        provider,
        error,
        corruption_reason,

        ----------  numerics
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
        {{ as_json('loop_reasons') }} as loop_reasons,
        {{ as_json('loop_commands') }} as loop_commands,
        {{ as_json('metric_scores') }} as metric_scores,
        {{ as_json('other_fields') }} as other_fields
    from source

)

select * from renamed
