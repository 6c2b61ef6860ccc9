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

counted as (

    select
        file,
        count(*) as n_rows,
        sum(n_train_turns) as n_train_turns,
        count(distinct instance_id) as n_tasks,
        -- Known by shard and row alone: no list of benchmark ids can be held against them.
        count(distinct instance_id) filter (where not contains(instance_id, '__')) as n_unnamed_tasks,
        count(distinct sample_id) as n_samples,
        min(first_train_turn) as first_train_turn,
        max(last_train_turn) as last_train_turn,
        -- A figure over rows of which one is unknown, as without a tokenizer, is unknown.
        case when count(n_tokens) = count(*) then sum(n_tokens) end as n_tokens,
        case when count(n_trained_tokens) = count(*) then sum(n_trained_tokens) end as n_trained_tokens,
        case when count(n_tokens) = count(*) then quantile_cont(n_tokens, 0.5) end as median_row_tokens,
        case when count(n_tokens) = count(*) then max(n_tokens) end as largest_row_tokens,
        case when count(over_limit) = count(*) then count(*) filter (where over_limit) end as n_over_limit,
        sum(n_judged_turns) as n_judged_turns,
        sum(n_recovery_turns) as n_recovery_turns,
        count(*) filter (where has_recovery) as n_rows_with_recovery,
        count(*) filter (where n_judged_turns > 0) as n_judged_rows,
        sum(n_submission_turns) as n_submission_turns,
        count(*) filter (where split = 'validation') as n_validation_rows,
        fsum(score order by mix, row_id) as total_score,
        count(score) as n_scored_rows
    from described
    group by file

),

filled as (

    select
        named.file,
        named.file_order,
        named.purpose,
        coalesce(counted.n_rows, 0) as n_rows,
        coalesce(counted.n_train_turns, 0) as n_train_turns,
        coalesce(counted.n_tasks, 0) as n_tasks,
        coalesce(counted.n_unnamed_tasks, 0) as n_unnamed_tasks,
        coalesce(counted.n_samples, 0) as n_samples,
        counted.first_train_turn,
        counted.last_train_turn,
        if(counted.file is null, 0, counted.n_tokens) as n_tokens,
        if(counted.file is null, 0, counted.n_trained_tokens) as n_trained_tokens,
        counted.median_row_tokens,
        counted.largest_row_tokens,
        if(counted.file is null, 0, counted.n_over_limit) as n_over_limit,
        coalesce(counted.n_judged_turns, 0) as n_judged_turns,
        coalesce(counted.n_recovery_turns, 0) as n_recovery_turns,
        coalesce(counted.n_rows_with_recovery, 0) as n_rows_with_recovery,
        coalesce(counted.n_judged_rows, 0) as n_judged_rows,
        coalesce(counted.n_submission_turns, 0) as n_submission_turns,
        coalesce(counted.n_validation_rows, 0) as n_validation_rows,
        counted.total_score,
        coalesce(counted.n_scored_rows, 0) as n_scored_rows,
        max(coalesce(counted.n_rows, 0)) filter (where named.file = 'final_v2') over () as n_all_rows
    from named
    left join counted on named.file = counted.file

),

mix_composition as (

    select
        file as mix,
        cast(file_order as bigint) as mix_position,
        purpose,
        n_rows,
        {{ safe_div('n_rows', 'n_all_rows') }} as share_of_rows,
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
    from filled

)

select * from mix_composition
order by mix_position asc
