with source as (

    select
        'current' as format,
        *
    from {{ landed('sn97', 'messages') }}
    union all by name
    select
        'legacy' as format,
        *
    from {{ landed('sn97', 'transcript_messages') }}

),

renamed as (

    select
        ----------  ids
        artifact_id,
        line,
        eval_run_id,
        sample_id,
        {{ sample_id_columns('sample_id') }},
        side,
        message_index,

        ----------  strings
        format,
        role,
        content,

        ----------  booleans
        score_target,
        environment_observation,
        truncated,
        injected,
        retry_feedback,
        abandoned,

        ----------  documents
        cast(other_fields as json) as other_fields
    from source

)

select * from renamed
