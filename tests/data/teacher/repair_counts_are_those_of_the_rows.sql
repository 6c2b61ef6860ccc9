-- Counted again from the rows themselves.
with flagged as (

    select
        duel_epoch as corpus_epoch,
        unnest(clean_flags) as flag
    from {{ ref('sft_rows') }}

),

counted as (

    select
        corpus_epoch,
        flag,
        count(*) as n_rows
    from flagged
    group by corpus_epoch, flag

)

select
    repair_counts.corpus_epoch,
    coalesce(repair_counts.flag, counted.flag) as flag,
    repair_counts.n_rows,
    counted.n_rows as n_found
from {{ ref('repair_counts') }} as repair_counts
full outer join counted
    on
        repair_counts.corpus_epoch is not distinct from counted.corpus_epoch
        and repair_counts.flag = counted.flag
where
    coalesce(repair_counts.n_rows, 0) <> coalesce(counted.n_rows, 0)
    or repair_counts.flag is null
    or repair_counts.n_rows > repair_counts.n_turns
