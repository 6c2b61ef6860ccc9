with headers as (

    select * from {{ ref('int_corpus_headers') }}

),

corpus_faults as (

    select
        fixture,
        artifact_id,
        line,
        artifact_id || ', line ' || line || ': ' || fault as reason
    from headers
    where fault is not null

)

select * from corpus_faults
order by fixture, artifact_id, line
