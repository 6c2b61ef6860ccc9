with candidates as (

    select * from {{ ref('int_turn_candidates') }}

),

reasons as (

    select * from {{ ref('teacher_drop_reasons') }}

),

epochs as (

    select distinct corpus_epoch
    from candidates

),

dropped as (

    select
        corpus_epoch,
        verdict,
        drop_reason,
        count(*) as n_turns
    from candidates
    where verdict <> 'kept'
    group by corpus_epoch, verdict, drop_reason

),

-- Every filter has its line, be it zero; a reason to be unknown has one where it occurs.
drop_counts as (

    select
        epochs.corpus_epoch,
        'dropped' as verdict,
        reasons.drop_reason,
        reasons.filter_order,
        coalesce(dropped.n_turns, 0) as n_turns
    from epochs
    cross join reasons
    left join dropped
        on
            epochs.corpus_epoch is not distinct from dropped.corpus_epoch
            and reasons.drop_reason = dropped.drop_reason
            and dropped.verdict = 'dropped'

    union all

    select
        corpus_epoch,
        verdict,
        drop_reason,
        cast(null as bigint) as filter_order,
        n_turns
    from dropped
    where verdict = 'unknown'

)

select * from drop_counts
order by corpus_epoch, filter_order nulls last, drop_reason
