with episodes as (

    select * from {{ ref('stg_gateway__corpus_episodes') }}

),

judged as (

    select
        *,
        case
            when {{ prompt_fault('prompt') }} is not null then {{ prompt_fault('prompt') }}
            when len(continuation) <> 9 then 'continuation has ' || len(continuation) || ' tokens, expected 9'
            when {{ unknown_token('continuation') }} is not null
                then 'continuation has the unknown token ' || {{ unknown_token('continuation') }}
        end as fault
    from episodes

),

int_corpus_headers as (

    select
        fixture,
        artifact_id,
        line,
        fault,
        prompt[2] as ctx,
        prompt[3] as src,
        prompt[4] as ver,
        prompt[5] as lang,
        prompt[7] as shard,
        prompt[8] as tens,
        prompt[9] as units,
        prompt[10] as category,
        case when prompt[7] in ('s0', 's1', 's2', 's3', 's4') then 'low' else 'high' end as shard_half,
        continuation[1] = 'S_OBS' as observed,
        list_sort(list_distinct(list_filter(continuation, lambda token: starts_with(token, 'S_')))) as tags
    from judged

)

select * from int_corpus_headers
