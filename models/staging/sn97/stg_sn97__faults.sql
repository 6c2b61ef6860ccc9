with source as (

    select * from {{ landed('sn97', 'faults') }}

),

renamed as (

    select
        ----------  ids
        artifact_id,
        line,
        submission_id,

        ----------  strings
        repo,
        digest,
        fault_code,
        reason,
        decision_mode,

        ----------  numerics
        n_responses,

        ----------  timestamps
        checked_at as checked_at_text,
        {{ utc_timestamp('checked_at') }} as checked_at,

        ----------  documents
        {{ as_json('gate') }} as gate,
        {{ as_json('other_fields') }} as other_fields
    from source

)

select * from renamed
