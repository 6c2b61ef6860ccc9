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
        {{ as_json('artifacts') }} as artifacts,
        {{ as_json('other_fields') }} as other_fields
    from source

)

select * from renamed
