-- Nothing gets lost between the pool and the set: pooled turns = rows + dropped + unknown, epoch by epoch.
with pooled as (

    select
        corpus_epoch,
        count(*) as n_pooled
    from {{ ref('reference_agreement') }}
    group by corpus_epoch

),

kept as (

    select
        duel_epoch as corpus_epoch,
        count(*) as n_kept
    from {{ ref('sft_rows') }}
    group by duel_epoch

),

dropped as (

    select
        corpus_epoch,
        sum(n_turns) as n_dropped
    from {{ ref('drop_counts') }}
    group by corpus_epoch

)

select
    pooled.corpus_epoch,
    pooled.n_pooled,
    kept.n_kept,
    dropped.n_dropped
from pooled
full outer join kept on pooled.corpus_epoch is not distinct from kept.corpus_epoch
full outer join dropped
    on coalesce(pooled.corpus_epoch, kept.corpus_epoch) is not distinct from dropped.corpus_epoch
where coalesce(pooled.n_pooled, 0) <> coalesce(kept.n_kept, 0) + coalesce(dropped.n_dropped, 0)
