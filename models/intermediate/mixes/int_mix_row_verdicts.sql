with mix_rows as (

    select * from {{ ref('int_mix_rows') }}

),

gates as (

    select * from {{ ref('int_mix_row_gates') }}

),

failed as (

    select
        mix,
        row_id,
        arg_min({ 'step_order': step_order, 'step': step, 'gate': gate, 'verdict': verdict }, step_order)
            as first_failed
    from gates
    where verdict <> 'pass'
    group by mix, row_id

),

int_mix_row_verdicts as (

    select
        mix_rows.mix,
        mix_rows.row_id,
        mix_rows.text_source,
        mix_rows.artifact_id,
        mix_rows.line,
        mix_rows.eval_run_id,
        mix_rows.sample_id,
        mix_rows.rollout,
        mix_rows.side,
        mix_rows.turn,
        mix_rows.instance_id,
        mix_rows.n_train_turns,
        mix_rows.n_tail_turns,
        mix_rows.last_message_index,
        struct_extract(failed.first_failed, 'step_order') as step_order,
        struct_extract(failed.first_failed, 'step') as step,
        struct_extract(failed.first_failed, 'gate') as gate,
        coalesce(struct_extract(failed.first_failed, 'verdict'), 'pass') as verdict
    from mix_rows
    left join failed on mix_rows.mix = failed.mix and mix_rows.row_id = failed.row_id

)

select * from int_mix_row_verdicts
