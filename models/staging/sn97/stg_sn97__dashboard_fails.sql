with source as (

    select * from {{ landed('sn97', 'dashboard_fails') }}

),

renamed as (

    select
        ----------  ids
        artifact_id,
        line,
        fail_index,
        submission_id,
        eval_run_id,

        ----------  strings
        model_uri,
        {{ model_uri_columns('model_uri') }},
        hotkey,
        state,
        fault_class,
        fault_code,
        fault_message,
        model_hash,

        ----------  numerics
        uid,

        ----------  timestamps
        updated_at as updated_at_text,
        {{ utc_timestamp('updated_at') }} as updated_at,

        ----------  documents
        cast(artifacts as json) as artifacts,
        cast(other_fields as json) as other_fields
    from source

)

select * from renamed
