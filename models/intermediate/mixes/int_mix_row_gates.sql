with mix_rows as (

    select * from {{ ref('int_mix_rows') }}

),

duel_sides as (

    select * from {{ ref('int_mix_duel_sides') }}

),

side_gates as (

    select * from {{ ref('side_gates') }}

),

finish_trajectories as (

    select * from {{ ref('int_mix_finish_trajectories') }}

),

benchmark_hits as (

    select * from {{ ref('int_mix_benchmark_hits') }}

),

steps as (

    select * from {{ ref('mix_steps') }}

),

plan as (

    select * from {{ ref('mix_plan') }}

),

-- What a duel's own gates say, in the order in which the mix asks them.
duel_gates as (

    select
        mix_rows.mix,
        mix_rows.row_id,
        steps.step_order,
        steps.step,
        side_gates.gate,
        side_gates.value,
        side_gates.comparison,
        side_gates."limit" as limit_value,
        side_gates.verdict,
        side_gates.reason
    from mix_rows
    inner join steps on mix_rows.mix = steps.mix and steps.unit = 'side'
    inner join side_gates
        on
            mix_rows.eval_run_id = side_gates.eval_run_id
            and mix_rows.sample_id = side_gates.sample_id
            and mix_rows.rollout = side_gates.rollout
            and mix_rows.side = side_gates.side
            and steps.gate = side_gates.gate
    where
        (mix_rows.mix = 'credit' and side_gates.credit_mix)
        or (mix_rows.mix = 'escape_duel' and side_gates.escape_mix)

),

contaminated as (

    select distinct instance_id
    from benchmark_hits
    where hit = 'instance'

),

facts as (

    select
        mix_rows.*,
        duel_sides.text_source as side_text_source,
        duel_sides.rank_in_sample,
        finish_trajectories.ends_in_submission,
        finish_trajectories.says_verified,
        finish_trajectories.verified,
        finish_trajectories.n_window_turns,
        contaminated.instance_id is not null as is_contaminated
    from mix_rows
    left join duel_sides
        on
            mix_rows.eval_run_id = duel_sides.eval_run_id
            and mix_rows.sample_id = duel_sides.sample_id
            and mix_rows.rollout = duel_sides.rollout
            and mix_rows.side = duel_sides.side
    left join finish_trajectories
        on
            mix_rows.mix = 'finish_mini'
            and mix_rows.artifact_id = finish_trajectories.artifact_id
            and mix_rows.line = finish_trajectories.line
    left join contaminated on mix_rows.instance_id = contaminated.instance_id

),

measured as (

    select
        facts.mix,
        facts.row_id,
        steps.step_order,
        steps.step,
        steps.gate,
        case steps.gate
            when 'one_side_per_sample' then cast(facts.rank_in_sample as double)
            when 'has_messages' then cast(facts.side_text_source = 'messages' as double)
            when 'ends_in_submission' then cast(facts.ends_in_submission as double)
            -- A file without the column asks nothing; one with it leaves a null unknown.
            when 'verified' then case when facts.says_verified then cast(facts.verified as double) else 1.0 end
            when 'reaches_window' then cast(facts.n_window_turns as double)
            when 'has_train_turn' then cast(facts.n_train_turns as double)
            when 'not_contaminated' then cast(not facts.is_contaminated as double)
        end as value,
        steps.comparison,
        steps.limit_value,
        steps.reason
    from facts
    inner join steps on facts.mix = steps.mix and steps.unit = 'row'
    where
        steps.gate in ('has_messages', 'ends_in_submission', 'verified', 'reaches_window', 'has_train_turn')
        -- A rank is there only among sides that passed; the others have left already.
        or (steps.gate = 'one_side_per_sample' and facts.rank_in_sample is not null)
        or (steps.gate = 'not_contaminated' and {{ var('drop_contaminated') }})

),

own_gates as (

    select
        mix,
        row_id,
        step_order,
        step,
        gate,
        value,
        comparison,
        limit_value,
        {{ gate_verdict('value', 'comparison', 'limit_value') }} as verdict,
        case {{ gate_verdict('value', 'comparison', 'limit_value') }}
            when 'unknown' then 'nothing says it'
            when 'fail' then reason
        end as reason
    from measured

),

single_gates as (

    select * from duel_gates
    union all
    select * from own_gates

),

passed as (

    select
        mix,
        row_id
    from single_gates
    group by mix, row_id
    having bool_and(verdict = 'pass')

),

-- One row a task: the longest tail without repeats, then the smallest row id.
ranked_in_instance as (

    select
        mix_rows.mix,
        mix_rows.row_id,
        mix_rows.instance_id,
        row_number() over (
            partition by mix_rows.mix, mix_rows.instance_id
            order by mix_rows.n_tail_turns desc, mix_rows.row_id asc
        ) as place
    from mix_rows
    inner join passed on mix_rows.mix = passed.mix and mix_rows.row_id = passed.row_id

),

instance_gates as (

    select
        ranked_in_instance.mix,
        ranked_in_instance.row_id,
        ranked_in_instance.instance_id,
        steps.step_order,
        steps.step,
        steps.gate,
        cast(ranked_in_instance.place as double) as value,
        steps.comparison,
        steps.limit_value,
        case when ranked_in_instance.place <= steps.limit_value then 'pass' else 'fail' end as verdict,
        case when ranked_in_instance.place > steps.limit_value then steps.reason end as reason
    from ranked_in_instance
    inner join steps on ranked_in_instance.mix = steps.mix and steps.gate = 'one_row_per_instance'

),

-- A cap takes tasks in an order that a seed decides and nothing else.
ranked_in_mix as (

    select
        ranked_in_instance.mix,
        ranked_in_instance.row_id,
        plan.row_cap,
        row_number() over (
            partition by ranked_in_instance.mix
            order by
                md5(cast(plan.seed as varchar) || ranked_in_instance.instance_id) asc,
                ranked_in_instance.instance_id asc,
                ranked_in_instance.row_id asc
        ) as place
    from ranked_in_instance
    inner join plan on ranked_in_instance.mix = plan.mix
    left join instance_gates
        on ranked_in_instance.mix = instance_gates.mix and ranked_in_instance.row_id = instance_gates.row_id
    where coalesce(instance_gates.verdict, 'pass') = 'pass'

),

cap_gates as (

    select
        ranked_in_mix.mix,
        ranked_in_mix.row_id,
        steps.step_order,
        steps.step,
        steps.gate,
        cast(ranked_in_mix.place as double) as value,
        steps.comparison,
        cast(ranked_in_mix.row_cap as double) as limit_value,
        case when ranked_in_mix.place <= ranked_in_mix.row_cap then 'pass' else 'fail' end as verdict,
        case when ranked_in_mix.place > ranked_in_mix.row_cap then steps.reason end as reason
    from ranked_in_mix
    inner join steps on ranked_in_mix.mix = steps.mix and steps.gate = 'within_cap'
    where ranked_in_mix.row_cap is not null

),

int_mix_row_gates as (

    select * from single_gates
    union all
    select * exclude (instance_id) from instance_gates
    union all
    select * from cap_gates

)

select * from int_mix_row_gates
