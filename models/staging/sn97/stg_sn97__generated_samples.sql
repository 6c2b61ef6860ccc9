with source as (

    select
        'current' as format,
        *
    from {{ landed('sn97', 'generated_samples') }}
    union all by name
    select
        'legacy' as format,
        *
    from {{ landed('sn97', 'transcripts') }}

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

        ----------  strings
        format,
        prompt,
        submit_marker,
        submit_command,
        rewrite_mode,
        king_output,
        challenger_output,
        king_error,
        challenger_error,
        target,

        ----------  numerics
        n_king_messages,
        n_challenger_messages,
        n_line_bytes,

        ----------  documents
        cast(other_fields as json) as other_fields
    from source

)

select * from renamed
