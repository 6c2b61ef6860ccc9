with source as (

    select * from {{ landed('sn97', 'dashboards') }}

),

renamed as (

    select
        ----------  ids
        artifact_id,
        line,

        ----------  numerics
        netuid,
        n_evaluated,

        ----------  timestamps
        updated_at as updated_at_text,
        {{ utc_timestamp('updated_at') }} as updated_at,

        ----------  documents
        judge_models,
        {{ as_json('current_eval') }} as current_eval,
        {{ as_json('queue') }} as queue,
        {{ as_json('other_fields') }} as other_fields
    from source

)

select * from renamed
