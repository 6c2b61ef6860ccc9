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
        cast(current_eval as json) as current_eval,
        cast(queue as json) as queue,
        cast(other_fields as json) as other_fields
    from source

)

select * from renamed
