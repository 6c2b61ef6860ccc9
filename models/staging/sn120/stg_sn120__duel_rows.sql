with source as (

    select * from {{ landed('sn120', 'duel_rows') }}

),

renamed as (

    select
        ----------  ids
        artifact_id,
        line,
        challenge_id,
        {{ challenge_number('challenge_id') }} as challenge_number,
        side,
        row_index,
        turn_id,
        {{ turn_id_columns('turn_id') }},

        ----------  strings
        miner,

        ----------  numerics
        n_pairs,
        bank_frac,
        l2_bank,

        ----------  booleans
        valid,

        ----------  documents
        cast(other_fields as json) as other_fields
    from source

)

select * from renamed
