with plan as (

    select * from {{ ref('mix_plan') }}

),

mix_rows as (

    select * from {{ ref('mix_rows') }}

),

judged_sides as (

    select * from {{ ref('credit_mix_sides') }}

),

facts as (

    select * from {{ ref('mix_turn_facts') }}

),

-- Duels and their judges stop where the first window of a mix begins.
windows as (

    select min(window_first_turn) as window_first_turn
    from plan

),

described as (

    select
        mix_rows.mix,
        mix_rows.row_id,
        coalesce(mix_rows.sample_id, mix_rows.text_artifact_id || '#' || cast(mix_rows.text_line as varchar)) as sample,
        judged_sides.passes as side_passes,
        coalesce(facts.follows_failure, false) as follows_failure,
        facts.failures_before,
        facts.leaves_repeats,
        facts.repeats_before,
        mix_rows.turn >= windows.window_first_turn as is_past_cutoff
    from mix_rows
    inner join plan on mix_rows.mix = plan.mix and plan.kind = 'escape'
    inner join facts on mix_rows.turn_id = facts.turn_id
    left join judged_sides on mix_rows.side_id = judged_sides.side_id
    cross join windows

),

-- Every mix of escapes has its row, be it empty.
counted as (

    select
        plan.mix,
        count(described.row_id) as n_rows,
        count(distinct described.sample) as n_samples,
        count(described.side_passes) as n_judged,
        count(*) filter (where not described.side_passes) as n_from_rejected,
        count(*) filter (where described.follows_failure) as n_after_failure,
        count(*) filter (where described.leaves_repeats) as n_after_repeat,
        count(*) filter (where described.is_past_cutoff) as n_past_cutoff,
        sum(described.failures_before) filter (where described.follows_failure) as failures_before,
        max(described.failures_before) filter (where described.follows_failure) as max_failures_before,
        sum(described.repeats_before) filter (where described.leaves_repeats) as repeats_before,
        max(described.repeats_before) filter (where described.leaves_repeats) as max_repeats_before
    from plan
    left join described on plan.mix = described.mix
    where plan.kind = 'escape'
    group by plan.mix

),

escape_statistics as (

    select
        mix,
        n_rows,
        n_samples,
        case when n_judged > 0 then n_from_rejected end as n_from_rejected_sides,
        {{ safe_div('n_from_rejected', 'n_judged') }} as from_rejected_share,
        {{ wilson_low('n_from_rejected', 'n_judged') }} as from_rejected_low,
        {{ wilson_high('n_from_rejected', 'n_judged') }} as from_rejected_high,
        n_after_failure,
        {{ safe_div('n_after_failure', 'n_rows') }} as after_failure_share,
        {{ wilson_low('n_after_failure', 'n_rows') }} as after_failure_low,
        {{ wilson_high('n_after_failure', 'n_rows') }} as after_failure_high,
        n_after_repeat,
        {{ safe_div('n_after_repeat', 'n_rows') }} as after_repeat_share,
        {{ wilson_low('n_after_repeat', 'n_rows') }} as after_repeat_low,
        {{ wilson_high('n_after_repeat', 'n_rows') }} as after_repeat_high,
        n_past_cutoff,
        {{ safe_div('n_past_cutoff', 'n_rows') }} as past_cutoff_share,
        {{ wilson_low('n_past_cutoff', 'n_rows') }} as past_cutoff_low,
        {{ wilson_high('n_past_cutoff', 'n_rows') }} as past_cutoff_high,
        {{ safe_div('failures_before', 'n_after_failure') }} as mean_failures_before,
        max_failures_before,
        {{ safe_div('repeats_before', 'n_after_repeat') }} as mean_repeats_before,
        max_repeats_before
    from counted

)

select * from escape_statistics
order by mix asc
