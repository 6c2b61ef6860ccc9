with pooled as (

    select * from {{ ref('int_pooled_references') }}

),

-- What was published of a turn, whether it is in the pool or not.
published as (

    select
        corpus_epoch,
        turn_id,
        min(traj_id) as traj_id,
        count(*) as n_published_refs,
        count(*) filter (where dialect <> 'bash') as n_other_dialect_refs,
        count(*) filter (where dialect = 'bash' and not is_recurrence) as n_distinct_refs
    from pooled
    group by corpus_epoch, turn_id

),

pool as (

    select * from pooled
    where in_pool

),

pool_sizes as (

    select
        corpus_epoch,
        turn_id,
        count(*) as n_pool_refs,
        count(distinct record_order) as n_duels,
        count(distinct action_key) as n_distinct_actions,
        count(distinct norm_key) as n_distinct_commands
    from pool
    group by corpus_epoch, turn_id

),

token_counts as (

    select
        corpus_epoch,
        turn_id,
        first_token,
        count(*) as n_refs,
        min(pool_order) as first_at
    from pool
    group by corpus_epoch, turn_id, first_token

),

-- Tokens that are equally common: the one that comes first in pool order.
modal_tokens as (

    select
        *,
        row_number() over (
            partition by corpus_epoch, turn_id
            order by n_refs desc, first_at asc
        ) as place
    from token_counts

),

action_counts as (

    select
        corpus_epoch,
        turn_id,
        action_key,
        count(*) as n_refs
    from pool
    group by corpus_epoch, turn_id, action_key

),

modal_actions as (

    select
        corpus_epoch,
        turn_id,
        max(n_refs) as n_refs
    from action_counts
    group by corpus_epoch, turn_id

),

norm_counts as (

    select
        corpus_epoch,
        turn_id,
        norm_key,
        count(*) as n_refs
    from pool
    group by corpus_epoch, turn_id, norm_key

),

modal_norms as (

    select
        corpus_epoch,
        turn_id,
        max(n_refs) as n_refs
    from norm_counts
    group by corpus_epoch, turn_id

),

-- The highest lift among references with the modal token, before any filter; a tie goes to pool order.
candidates as (

    select
        pool.*,
        row_number() over (
            partition by pool.corpus_epoch, pool.turn_id
            order by pool.teacher_lift desc nulls last, pool.pool_order asc
        ) as place
    from pool
    inner join modal_tokens
        on
            pool.corpus_epoch is not distinct from modal_tokens.corpus_epoch
            and pool.turn_id = modal_tokens.turn_id
            and pool.first_token = modal_tokens.first_token
            and modal_tokens.place = 1

),

reference_agreement as (

    select
        pool_sizes.corpus_epoch,
        pool_sizes.turn_id,
        published.traj_id,
        pool_sizes.n_pool_refs,
        published.n_published_refs,
        published.n_distinct_refs,
        published.n_other_dialect_refs,
        pool_sizes.n_duels,
        modal_tokens.first_token as modal_token,
        {{ safe_div('modal_tokens.n_refs', 'pool_sizes.n_pool_refs') }} as modal_share,
        {{ safe_div('modal_actions.n_refs', 'pool_sizes.n_pool_refs') }} as modal_action_share,
        {{ safe_div('modal_norms.n_refs', 'pool_sizes.n_pool_refs') }} as modal_norm_share,
        pool_sizes.n_distinct_actions,
        pool_sizes.n_distinct_commands,
        pool_sizes.n_pool_refs = 1 as is_vacuous,
        candidates.challenge_id,
        candidates.manifest_sha256,
        candidates.ref_index,
        candidates.pool_order as selected_pool_order,
        candidates.artifact_id,
        candidates.published_at,
        candidates.teacher_lift
    from pool_sizes
    inner join published
        on
            pool_sizes.corpus_epoch is not distinct from published.corpus_epoch
            and pool_sizes.turn_id = published.turn_id
    inner join modal_tokens
        on
            pool_sizes.corpus_epoch is not distinct from modal_tokens.corpus_epoch
            and pool_sizes.turn_id = modal_tokens.turn_id
            and modal_tokens.place = 1
    inner join modal_actions
        on
            pool_sizes.corpus_epoch is not distinct from modal_actions.corpus_epoch
            and pool_sizes.turn_id = modal_actions.turn_id
    inner join modal_norms
        on
            pool_sizes.corpus_epoch is not distinct from modal_norms.corpus_epoch
            and pool_sizes.turn_id = modal_norms.turn_id
    inner join candidates
        on
            pool_sizes.corpus_epoch is not distinct from candidates.corpus_epoch
            and pool_sizes.turn_id = candidates.turn_id
            and candidates.place = 1

)

select * from reference_agreement
order by corpus_epoch, turn_id
