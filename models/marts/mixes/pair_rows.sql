with pairs as (

    select * from {{ ref('mix_pairs') }}

),

duel_sides as (

    select * from {{ ref('mix_sides') }}

),

messages as (

    select * from {{ ref('pair_messages') }}
    where mix = 'chosen'

),

pair_audit as (

    select * from {{ ref('pair_audit') }}

),

benchmark_hits as (

    select * from {{ ref('mix_benchmark_hits') }}

),

forks as (

    select
        row_id,
        count(*) - 1 as n_prompt_messages
    from messages
    group by row_id

),

contaminated as (

    select distinct instance_id
    from benchmark_hits
    where hit = 'instance' and {{ var('drop_contaminated') }}

),

described as (

    select
        'pairs/' || pairs.chosen_side_id as row_id,
        pairs.*,
        duel_sides.artifact_id as text_artifact_id,
        duel_sides.line as text_line,
        forks.n_prompt_messages,
        chosen_audit.verdict as chosen_verdict,
        rejected_audit.verdict as rejected_verdict,
        chosen_audit.n_tokens as chosen_tokens,
        rejected_audit.n_tokens as rejected_tokens,
        case
            when contaminated.instance_id is not null then 'contaminated'
            when forks.row_id is null then 'sides_differ_before_a_reply'
            when forks.n_prompt_messages = 0 then 'no_prompt'
            when coalesce(chosen_audit.verdict, 'unknown') <> 'pass'
                then 'chosen: ' || coalesce(chosen_audit.reason, 'it was not audited')
            when coalesce(rejected_audit.verdict, 'unknown') <> 'pass'
                then 'rejected: ' || coalesce(rejected_audit.reason, 'it was not audited')
        end as drop_reason
    from pairs
    inner join duel_sides on pairs.chosen_side_id = duel_sides.side_id
    left join forks on 'pairs/' || pairs.chosen_side_id = forks.row_id
    left join contaminated on pairs.instance_id = contaminated.instance_id
    left join pair_audit as chosen_audit
        on 'pairs/' || pairs.chosen_side_id = chosen_audit.row_id and chosen_audit.mix = 'chosen'
    left join pair_audit as rejected_audit
        on 'pairs/' || pairs.chosen_side_id = rejected_audit.row_id and rejected_audit.mix = 'rejected'

),

pair_rows as (

    select
        row_id,
        eval_run_id,
        sample_id,
        rollout,
        instance_id,
        -- A task that is in no mix has no rows to keep apart from.
        coalesce(split, 'train') as split,
        text_artifact_id,
        text_line,
        chosen_side,
        rejected_side,
        n_prompt_messages,
        chosen_score,
        rejected_score,
        reasons,
        chosen_verdict,
        rejected_verdict,
        chosen_tokens,
        rejected_tokens,
        drop_reason is null as is_exported,
        drop_reason
    from described

)

select * from pair_rows
order by text_artifact_id, text_line
