with candidates as (

    select * from {{ ref('int_turn_candidates') }}

),

repairs as (

    select * from {{ ref('teacher_repairs') }}

),

epochs as (

    select distinct corpus_epoch
    from candidates

),

flagged as (

    select
        corpus_epoch,
        verdict,
        unnest(clean_flags) as flag
    from candidates

),

counted as (

    select
        corpus_epoch,
        flag,
        count(*) as n_turns,
        count(*) filter (where verdict = 'kept') as n_rows
    from flagged
    group by corpus_epoch, flag

),

repair_counts as (

    select
        epochs.corpus_epoch,
        repairs.flag,
        repairs.repair_order,
        coalesce(counted.n_turns, 0) as n_turns,
        coalesce(counted.n_rows, 0) as n_rows
    from epochs
    cross join repairs
    left join counted
        on
            epochs.corpus_epoch is not distinct from counted.corpus_epoch
            and repairs.flag = counted.flag

)

select * from repair_counts
order by corpus_epoch, repair_order
