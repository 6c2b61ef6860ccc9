with sft_rows as (

    select
        duel_epoch as corpus_epoch,
        n_prefix_tokens as prompt_tokens,
        length(thought) as thought_chars,
        length(action) as action_chars,
        n_pool_refs as pool_references
    from {{ ref('sft_rows') }}

),

measured as (

    {% for measure in ['prompt_tokens', 'thought_chars', 'action_chars', 'pool_references'] -%}
    select
        corpus_epoch,
        '{{ measure }}' as measure,
        {{ measure }} as value
    from sft_rows
    {% if not loop.last %}union all{% endif %}
    {% endfor %}
),

sft_lengths as (

    select
        corpus_epoch,
        measure,
        count(*) as n_rows,
        min(value) as minimum,
        quantile_cont(value, 0.5) as median,
        quantile_cont(value, 0.95) as p95,
        max(value) as maximum
    from measured
    group by corpus_epoch, measure

)

select * from sft_lengths
order by corpus_epoch, measure
