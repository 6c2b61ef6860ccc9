{# Every mix and final has its row, be it empty. #}
with plan as (

    select * from {{ ref('mix_plan') }}

),

files as (

    select * from {{ ref('mix_files') }}

),

mix_rows as (

    select * from {{ ref('mix_rows') }}

),

mix_turns as (

    select * from {{ ref('mix_turns') }}
    where train

),

sides as (

    select * from {{ ref('mix_sides') }}

),

named as (

    select
        mix as file,
        position as file_order,
        purpose
    from plan
    union all
    select
        'final_v1' as file,
        101 as file_order,
        string_agg(mix, ' + ' order by position asc) filter (where in_final_v1) as purpose
    from plan
    union all
    select
        'final_v2' as file,
        102 as file_order,
        string_agg(mix, ' + ' order by position asc) filter (where in_final_v2) as purpose
    from plan

),

recoveries as (

    select
        mix,
        row_id,
        count(*) filter (where is_recovery) as n_recovery_turns,
        count(is_recovery) as n_judged_turns,
        count(*) filter (where command_kind = 'submit') as n_submission_turns
    from mix_turns
    group by mix, row_id

),

described as (

    select
        files.file,
        mix_rows.*,
        recoveries.n_recovery_turns,
        recoveries.n_judged_turns,
        recoveries.n_submission_turns,
        sides.score
    from files
    inner join mix_rows on files.mix = mix_rows.mix and files.row_id = mix_rows.row_id
    inner join recoveries on files.mix = recoveries.mix and files.row_id = recoveries.row_id
    left join sides on mix_rows.side_id = sides.side_id

),

-- A figure over rows of which one is unknown, as those of tokens without a tokenizer, is unknown; of no rows it is 0.
counted as (

    select
        named.file,
        named.file_order,
        named.purpose,
        count(described.row_id) as n_rows,
        coalesce(sum(described.n_train_turns), 0) as n_train_turns,
        count(distinct described.instance_id) as n_tasks,
        -- Known by shard and row alone: no list of benchmark ids can be held against them.
        count(distinct described.instance_id) filter (where not contains(described.instance_id, '__'))
            as n_unnamed_tasks,
        count(distinct described.sample_id) as n_samples,
        min(described.first_train_turn) as first_train_turn,
        max(described.last_train_turn) as last_train_turn,
        case when count(described.n_tokens) = count(described.row_id) then coalesce(sum(described.n_tokens), 0) end
            as n_tokens,
        case
            when count(described.n_trained_tokens) = count(described.row_id)
                then coalesce(sum(described.n_trained_tokens), 0)
        end as n_trained_tokens,
        case when count(described.n_tokens) = count(described.row_id) then quantile_cont(described.n_tokens, 0.5) end
            as median_row_tokens,
        case when count(described.n_tokens) = count(described.row_id) then max(described.n_tokens) end
            as largest_row_tokens,
        case
            when count(described.over_limit) = count(described.row_id)
                then count(*) filter (where described.over_limit)
        end as n_over_limit,
        coalesce(sum(described.n_judged_turns), 0) as n_judged_turns,
        coalesce(sum(described.n_recovery_turns), 0) as n_recovery_turns,
        count(*) filter (where described.has_recovery) as n_rows_with_recovery,
        count(*) filter (where described.n_judged_turns > 0) as n_judged_rows,
        coalesce(sum(described.n_submission_turns), 0) as n_submission_turns,
        count(*) filter (where described.split = 'validation') as n_validation_rows,
        fsum(described.score order by described.mix, described.row_id) as total_score,
        count(described.score) as n_scored_rows
    from named
    left join described on named.file = described.file
    group by named.file, named.file_order, named.purpose

),

mix_composition as (

    select
        file as mix,
        cast(file_order as bigint) as mix_position,
        purpose,
        n_rows,
        {{ safe_div('n_rows', 'max(n_rows) filter (where file = \'final_v2\') over ()') }} as share_of_rows,
        cast(n_train_turns as bigint) as n_train_turns,
        n_tasks,
        n_unnamed_tasks,
        n_samples,
        first_train_turn,
        last_train_turn,
        cast(n_tokens as bigint) as n_tokens,
        cast(n_trained_tokens as bigint) as n_trained_tokens,
        {{ safe_div('n_tokens', 'n_rows') }} as mean_row_tokens,
        cast(median_row_tokens as double) as median_row_tokens,
        largest_row_tokens,
        n_over_limit,
        {{ safe_div('n_over_limit', 'n_rows') }} as over_limit_share,
        {{ wilson_low('n_over_limit', 'n_rows') }} as over_limit_low,
        {{ wilson_high('n_over_limit', 'n_rows') }} as over_limit_high,
        cast(n_judged_turns as bigint) as n_judged_turns,
        cast(n_recovery_turns as bigint) as n_recovery_turns,
        {{ safe_div('n_recovery_turns', 'n_judged_turns') }} as recovery_share,
        {{ wilson_low('n_recovery_turns', 'n_judged_turns') }} as recovery_low,
        {{ wilson_high('n_recovery_turns', 'n_judged_turns') }} as recovery_high,
        n_rows_with_recovery,
        {{ safe_div('n_rows_with_recovery', 'n_judged_rows') }} as rows_with_recovery_share,
        {{ wilson_low('n_rows_with_recovery', 'n_judged_rows') }} as rows_with_recovery_low,
        {{ wilson_high('n_rows_with_recovery', 'n_judged_rows') }} as rows_with_recovery_high,
        cast(n_submission_turns as bigint) as n_submission_turns,
        {{ safe_div('total_score', 'n_scored_rows') }} as mean_score,
        n_validation_rows
    from counted

)

select * from mix_composition
order by mix_position asc
