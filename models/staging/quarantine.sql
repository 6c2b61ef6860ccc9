with source as (

    select * from {{ landed('staging', 'quarantine') }}

),

quarantine as (

    select
        source,
        artifact_id,
        file,
        line,
        byte_offset,
        reason,
        detail,
        excerpt
    from source

)

select * from quarantine
