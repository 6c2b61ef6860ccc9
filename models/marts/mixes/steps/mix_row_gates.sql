{#-
    Ranks in the order in which a mix asks them: what its rows are ranked within, and by what. A rank is asked only of
    rows that passed what comes before it. The best score of a sample; the longest tail of a task without repeats; and
    for a cap an order that a seed decides and nothing else.
-#}
{%- set ranks = [
    (
        'rank_in_sample',
        'ranked.mix, ranked.sample_id',
        'score desc, dup_cmd_ratio asc, eval_run_id asc, rollout asc, text_side asc, row_id asc',
    ),
    ('rank_in_instance', 'ranked.mix, ranked.instance_id', 'n_tail_turns desc, row_id asc'),
    ('place_in_mix', 'ranked.mix', 'md5(cast(seed as varchar) || instance_id) asc, instance_id asc, row_id asc'),
] -%}
with candidates as (

    select * from {{ ref('mix_candidates') }}

),

gates as (

    select * from {{ ref('int_mix_gates') }}
    where is_asked

),

-- What the side's own gates say, in the order in which the mix asks them.
gates_of_sides as (

    select
        candidates.mix,
        candidates.row_id,
        gates.step_order,
        gates.step,
        side_gates.gate,
        side_gates.value,
        side_gates.comparison,
        side_gates.limit_value,
        side_gates.verdict,
        side_gates.reason,
        side_gates.statement
    from candidates
    inner join gates on candidates.mix = gates.mix and gates.subject = 'side'
    inner join {{ ref('mix_side_gates') }} as side_gates
        on candidates.side_id = side_gates.side_id and gates.gate = side_gates.gate

),

contaminated as (

    select distinct instance_id
    from {{ ref('mix_benchmark_hits') }}
    where hit = 'instance'

),

facts as (

    select
        candidates.*,
        contaminated.instance_id is null as not_contaminated
    from candidates
    left join contaminated on candidates.instance_id = contaminated.instance_id

),

measured as (

    select
        facts.row_id,
        gates.*,
        {{ gate_value('gates.measure', 'facts', gate_measures('row')) }} as value
    from facts
    inner join gates on facts.mix = gates.mix and gates.subject = 'row'

),

gates_of_rows as (

    {{ judged_gates('measured', ['mix', 'row_id', 'step_order', 'step']) }}

),

before_ranks as (

    select * from gates_of_sides
    union all
    select * from gates_of_rows

),

standing as (

    select
        mix,
        row_id,
        min(step_order) filter (where verdict <> 'pass') as failed_at
    from before_ranks
    group by mix, row_id

),

ordered as (

    select
        candidates.*,
        sides.score,
        sides.dup_cmd_ratio,
        plan.seed,
        standing.failed_at
    from candidates
    inner join {{ ref('mix_sides') }} as sides on candidates.side_id = sides.side_id
    inner join {{ ref('mix_plan') }} as plan on candidates.mix = plan.mix
    left join standing on candidates.mix = standing.mix and candidates.row_id = standing.row_id

),

{% for measure, within, order in ranks -%}
{%- set rows_before = 'ordered' if loop.first else 'standing_after_' ~ ranks[loop.index0 - 1][0] -%}
{{ measure }}_measured as (

    select
        gates.*,
        ranked.row_id,
        cast(row_number() over (
            partition by {{ within }}
            order by {{ order }}
        ) as double) as value
    from {{ rows_before }} as ranked
    inner join gates on ranked.mix = gates.mix and gates.subject = 'rank' and gates.measure = '{{ measure }}'
    where coalesce(ranked.failed_at > gates.step_order, true)

),

{{ measure }} as (

    {{ judged_gates(measure ~ '_measured', ['mix', 'row_id', 'step_order', 'step']) }}

),

standing_after_{{ measure }} as (

    select ranked.* replace (least(ranked.failed_at, failed.step_order) as failed_at)
    from {{ rows_before }} as ranked
    left join {{ measure }} as failed
        on ranked.mix = failed.mix and ranked.row_id = failed.row_id and failed.verdict <> 'pass'

),

{% endfor -%}
mix_row_gates as (

    select * from before_ranks
    {%- for measure, within, order in ranks %}
    union all
    select * from {{ measure }}
    {%- endfor %}

)

select * from mix_row_gates
