with source as (

    select * from {{ landed('sn120', 'pairs') }}

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
        pair_index,

        ----------  strings
        thought,
        action,

        ----------  numerics
        lpc_yc_za,
        lpc_yc_zc,
        lpc_yc_e,
        lpc_ya_za,
        lpc_ya_zc,
        lpc_ya_e,
        lpa_yc_za,
        lpa_yc_zc,
        lpa_yc_e,
        lpa_ya_za,
        lpa_ya_zc,
        lpa_ya_e,
        lpc_za_x,
        lpc_zc_x,
        eta,
        l2_bank,

        ----------  documents
        cast(other_fields as json) as other_fields
    from source

)

select * from renamed
