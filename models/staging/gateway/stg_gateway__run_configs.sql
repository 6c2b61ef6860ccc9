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
        {{ as_json('demo_writer') }} as demo_writer,
        {{ as_json('anchor_schedule') }} as anchor_schedule,
        {{ as_json('other_fields') }} as other_fields
    from source

)

select * from renamed
