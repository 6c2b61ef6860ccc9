with verdicts as (

    select * from {{ ref('int_mix_row_verdicts') }}
    where verdict = 'pass'

),

messages as (

    select * from {{ ref('int_mix_candidate_messages') }}

),

plan as (

    select * from {{ ref('mix_plan') }}

),

counted as (

    select
        mix,
        row_id,
        count(*) as n_messages,
        count(*) filter (where train) as n_train_turns
    from messages
    group by mix, row_id

),

int_mix_candidate_rows as (

    select
        verdicts.mix,
        verdicts.row_id,
        row_number() over (
            partition by verdicts.mix
            order by
                verdicts.eval_run_id asc nulls last,
                verdicts.sample_id asc nulls last,
                verdicts.rollout asc nulls last,
                verdicts.side asc nulls last,
                verdicts.artifact_id asc,
                verdicts.line asc,
                verdicts.turn asc nulls last
        ) as row_order,
        plan.position as mix_position,
        verdicts.instance_id,
        verdicts.eval_run_id,
        verdicts.sample_id,
        verdicts.rollout,
        verdicts.side,
        verdicts.turn,
        verdicts.text_source,
        verdicts.artifact_id as text_artifact_id,
        verdicts.line as text_line,
        verdicts.side as text_side,
        counted.n_messages,
        counted.n_train_turns
    from verdicts
    inner join plan on verdicts.mix = plan.mix
    inner join counted on verdicts.mix = counted.mix and verdicts.row_id = counted.row_id

)

select * from int_mix_candidate_rows
order by mix_position, row_order
