with candidate_rows as (

    select * from {{ ref('mix_candidate_rows') }}

),

messages as (

    select * from {{ ref('mix_audited_messages') }}

),

mask_audit as (

    select * from {{ ref('mask_audit') }}

),

splits as (

    select * from {{ ref('mix_splits') }}

),

plan as (

    select * from {{ ref('mix_plan') }}

),

counted as (

    select
        mix,
        row_id,
        count(*) as n_messages,
        count(*) filter (where train) as n_train_turns,
        min(turn) filter (where train) as first_train_turn,
        max(turn) filter (where train) as last_train_turn,
        coalesce(bool_or(is_recovery) filter (where train), false) as has_recovery
    from messages
    group by mix, row_id

),

mix_rows as (

    select
        candidate_rows.mix,
        candidate_rows.row_id,
        candidate_rows.row_order,
        candidate_rows.mix_position,
        splits.split,
        plan.weight,
        plan.in_final_v1,
        plan.in_final_v2,
        candidate_rows.instance_id,
        candidate_rows.side_id,
        candidate_rows.turn_id,
        splits.split_group,
        splits.row_hash,
        splits.near_duplicate_cluster,
        candidate_rows.eval_run_id,
        candidate_rows.sample_id,
        candidate_rows.rollout,
        candidate_rows.side,
        candidate_rows.turn,
        candidate_rows.text_source,
        candidate_rows.text_artifact_id,
        candidate_rows.text_line,
        candidate_rows.text_side,
        counted.n_messages,
        counted.n_train_turns,
        counted.first_train_turn,
        counted.last_train_turn,
        counted.has_recovery,
        mask_audit.n_tokens,
        mask_audit.n_trained_tokens,
        mask_audit.over_limit
    from candidate_rows
    inner join counted on candidate_rows.mix = counted.mix and candidate_rows.row_id = counted.row_id
    inner join mask_audit on candidate_rows.mix = mask_audit.mix and candidate_rows.row_id = mask_audit.row_id
    inner join splits on candidate_rows.mix = splits.mix and candidate_rows.row_id = splits.row_id
    inner join plan on candidate_rows.mix = plan.mix
    where mask_audit.verdict = 'pass' and counted.n_train_turns > 0

)

select * from mix_rows
order by mix_position, row_order
