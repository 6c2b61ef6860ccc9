with source as (

    select * from {{ landed('sn120', 'teacher_references') }}

),

renamed as (

    select
        ----------  ids
        artifact_id,
        line,
        challenge_id,
        {{ challenge_number('challenge_id') }} as challenge_number,
        turn_id,
        {{ turn_id_columns('turn_id') }},
        reference_index,

        ----------  strings
        thought,
        action,

        ----------  numerics
        lp_own,
        lp_empty,
        lp_thought,
        lp_thought_e,
        mc_thought,
        n_bytes_y,
        n_content_thought,
        n_tokens_thought,

        ----------  documents
        cast(lp_cross as json) as lp_cross,
        cast(other_fields as json) as other_fields
    from source

)

select * from renamed
