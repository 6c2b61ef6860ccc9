with source as (

    select * from {{ landed('gateway', 'checkpoints') }}

),

renamed as (

    select
        ----------  ids
        artifact_id,
        line,
        fixture,
        checkpoint,
        {{ checkpoint_columns('checkpoint') }},

        ----------  numerics
        n_tensors,
        n_parameters,
        d_model,
        n_heads,
        n_layers,
        header_bytes,

        ----------  documents
        dtypes,
        cast(metadata as json) as metadata
    from source

)

select * from renamed
