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
        cast(gate as json) as gate,
        cast(other_fields as json) as other_fields
    from source

)

select * from renamed
