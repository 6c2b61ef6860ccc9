with source as (

    select * from {{ landed('sn120', 'eval_index') }}

),

renamed as (

    select
        ----------  ids
        source.artifact_id,
        source.line,
        source.key,
        source.challenge_id,
        {{ challenge_number('source.challenge_id') }} as challenge_number,

        ----------  strings
        source.repo,
        source.revision,
        source.hotkey,
        source.rejection_reason,

        ----------  numerics
        source.bytes,
        source.z,
        source.margin,

        ----------  booleans
        source.challenger_wins,

        ----------  timestamps
        source.at as appended_at_text,
        {{ utc_timestamp('source.at') }} as appended_at,

        ----------  documents
        cast(source.other_fields as json) as other_fields
    from source

)

select * from renamed
