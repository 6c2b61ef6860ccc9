-- A run that no ruleset is known of has its commands counted as the first check did, and no verdict.
with rulesets as (

    select
        ruleset_id,
        coalesce(loop_variant, 'v1') as loop_variant,
        dup_limit,
        run_limit,
        zeroes_truncated,
        zeroes_abandoned,
        zeroes_reserved
    from {{ ref('rulesets') }}
    union all by name
    select
        cast(null as varchar) as ruleset_id,
        'v1' as loop_variant

),

counted as (

    select
        sides.side_id,
        rulesets.*,
        {%- for column in ('n_cmds', 'n_distinct_cmds', 'max_cmd_run') %}
        case rulesets.loop_variant
            when 'v1' then sides.{{ column }}_v1
            when 'v2' then sides.{{ column }}_v2
            else sides.{{ column }}_v3
        end as {{ column }},
        {%- endfor %}
        {{ dup_cmd_ratio('sides.document_n_distinct_cmds_v1', 'sides.document_n_cmds_v1') }} as document_dup_cmd_ratio,
        sides.document_max_cmd_run_v1 as document_max_cmd_run,
        sides.has_truncation_sentinel,
        sides.has_abandonment_sentinel,
        sides.reserved_token
    from {{ ref('int_sides_derived') }} as sides
    cross join rulesets

),

with_ratio as (

    select
        *,
        {{ dup_cmd_ratio('n_distinct_cmds', 'n_cmds') }} as dup_cmd_ratio
    from counted

),

int_side_loops as (

    select
        side_id,
        ruleset_id,
        loop_variant,
        n_cmds,
        dup_cmd_ratio,
        max_cmd_run,
        case when dup_limit is not null then dup_cmd_ratio >= dup_limit or max_cmd_run >= run_limit end as looped,
        document_dup_cmd_ratio >= dup_limit or document_max_cmd_run >= run_limit as looped_by_document,
        case
            when zeroes_truncated and has_truncation_sentinel then 'output truncated mid-generation'
            when zeroes_abandoned and has_abandonment_sentinel
                then 'turn unusable after repeated attempts; the benchmark abandons here'
            when zeroes_reserved and reserved_token is not null
                then 'reserved template token in output: ' || reserved_token
        end as corruption_reason
    from with_ratio

)

select * from int_side_loops
