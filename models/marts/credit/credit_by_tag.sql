with answers as (

    select * from {{ ref('answers') }}
    where is_counted

),

by_sample as (

    select
        coalesce(plain_tag, 'untagged') as tag,
        sample_id,
        count(*) as n_asked,
        count(*) filter (where not zeroed) as n_judged,
        count(*) filter (where not zeroed and is_yes) as n_yes,
        count(*) filter (where earned) as n_earned,
        sum(n_cited_valid) filter (where earned) as n_pairs,
        sum(n_cited_extended_valid) filter (where earned) as n_pairs_extended,
        {{ exact_sum('weight / n_judges') }} as asked_weight,
        {{ exact_sum('earned_weight') }} as earned_weight,
        {{ exact_sum('case when n_cited_valid > 0 then earned_weight else 0.0 end') }} as credit_split,
        {{ exact_sum('earned_weight * n_cited_valid') }} as credit_full,
        {{ exact_sum('case when n_cited_extended_valid > 0 then earned_weight else 0.0 end') }}
            as credit_split_extended,
        {{ exact_sum('case when n_cited > 0 and n_cited_valid = 0 then earned_weight else 0.0 end') }}
            as dangling_weight
    from answers
    group by coalesce(plain_tag, 'untagged'), sample_id

),

totals as (

    select
        tag,
        count(*) filter (where n_judged > 0) as n_samples,
        sum(n_asked) as n_asked,
        sum(n_judged) as n_judged,
        sum(n_yes) as n_yes,
        sum(n_earned) as n_earned,
        coalesce(sum(n_pairs), 0) as n_pairs,
        coalesce(sum(n_pairs_extended), 0) as n_pairs_extended,
        {{ exact_sum('asked_weight') }} as asked_weight,
        {{ exact_sum('earned_weight') }} as earned_weight,
        {{ exact_sum('credit_split') }} as credit_split,
        {{ exact_sum('credit_full') }} as credit_full,
        {{ exact_sum('credit_split_extended') }} as credit_split_extended,
        {{ exact_sum('dangling_weight') }} as dangling_weight,
        {{ safe_div('sum(n_yes)', 'sum(n_judged)') }} as yes_rate
    from by_sample
    group by tag

),

squares as (

    select
        by_sample.tag,
        {{ exact_sum('power(by_sample.n_yes - totals.yes_rate * by_sample.n_judged, 2)') }} as yes_squares
    from by_sample
    inner join totals on by_sample.tag = totals.tag
    group by by_sample.tag

),

with_errors as (

    select
        totals.*,
        {{ clustered_standard_error('squares.yes_squares', 'totals.n_samples', 'totals.n_judged') }} as yes_rate_se
    from totals
    inner join squares on totals.tag = squares.tag

),

with_effective as (

    select
        *,
        {{ effective_trials('yes_rate', 'yes_rate_se', 'n_judged', 'n_samples') }} as n_effective
    from with_errors

),

credit_by_tag as (

    select
        tag,
        n_samples,
        cast(n_asked as bigint) as n_asked,
        cast(n_judged as bigint) as n_judged,
        cast(n_yes as bigint) as n_yes,
        yes_rate,
        yes_rate_se,
        {{ wilson_low('yes_rate * n_effective', 'n_effective') }} as yes_rate_low,
        {{ wilson_high('yes_rate * n_effective', 'n_effective') }} as yes_rate_high,
        asked_weight,
        cast(n_earned as bigint) as n_earned,
        earned_weight,
        {{ safe_div('earned_weight', 'fsum(earned_weight order by tag) over ()') }} as share_of_earned_weight,
        cast(n_pairs as bigint) as n_pairs,
        {{ safe_div('n_pairs', 'sum(n_pairs) over ()') }} as share_of_pairs,
        cast(n_pairs_extended as bigint) as n_pairs_extended,
        credit_split,
        credit_full,
        credit_split_extended,
        earned_weight - credit_split as uncited_weight,
        dangling_weight,
        {{ safe_div('earned_weight - credit_split', 'earned_weight') }} as uncited_share
    from with_effective

)

select * from credit_by_tag
order by share_of_pairs desc, tag asc
