with source as (

    select * from {{ landed('gateway', 'run_configs') }}

),

renamed as (

    select
        ----------  ids
        artifact_id,
        line,
        fixture,
        run,

        ----------  strings
        init,

        ----------  numerics
        steps,
        learning_rate,
        batch,
        save_every,
        seed,

        ----------  documents
        cast(demo_writer as json) as demo_writer,
        cast(anchor_schedule as json) as anchor_schedule,
        cast(other_fields as json) as other_fields
    from source

)

select * from renamed
