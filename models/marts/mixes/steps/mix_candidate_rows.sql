with left_before as (

    select distinct
        mix,
        row_id
    from {{ ref('mix_row_gates') }}
    where verdict <> 'pass'

),

mix_candidate_rows as (

    select
        candidates.mix,
        candidates.row_id,
        row_number() over (
            partition by candidates.mix
            order by
                candidates.eval_run_id asc nulls last,
                candidates.sample_id asc nulls last,
                candidates.rollout asc nulls last,
                candidates.text_side asc nulls last,
                candidates.artifact_id asc,
                candidates.line asc,
                candidates.turn asc nulls last
        ) as row_order,
        plan.position as mix_position,
        candidates.side_id,
        candidates.turn_id,
        candidates.instance_id,
        candidates.eval_run_id,
        candidates.sample_id,
        candidates.rollout,
        candidates.text_side as side,
        candidates.turn,
        candidates.text_source,
        candidates.artifact_id as text_artifact_id,
        candidates.line as text_line,
        candidates.text_side,
        candidates.n_train_turns,
        candidates.last_message_index
    from {{ ref('mix_candidates') }} as candidates
    inner join {{ ref('mix_plan') }} as plan on candidates.mix = plan.mix
    anti join left_before on candidates.mix = left_before.mix and candidates.row_id = left_before.row_id

)

select * from mix_candidate_rows
order by mix_position, row_order
