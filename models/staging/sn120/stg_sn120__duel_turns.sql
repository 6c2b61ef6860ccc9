with source as (

    select * from {{ landed('sn120', 'duel_turns') }}

),

renamed as (

    select
        ----------  ids
        artifact_id,
        line,
        challenge_id,
        {{ challenge_number('challenge_id') }} as challenge_number,
        position,
        turn_id,
        {{ turn_id_columns('turn_id') }},

        ----------  numerics
        n_references
    from source

)

select * from renamed
