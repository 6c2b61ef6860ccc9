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

{{ clustered_ratios(
    ['tag'],
    ['n_asked', 'n_judged', 'n_yes', 'n_earned', 'n_pairs', 'n_pairs_extended'],
    ['asked_weight', 'earned_weight', 'credit_split', 'credit_full', 'credit_split_extended', 'dangling_weight'],
    [{'name': 'yes_rate', 'of': 'n_yes', 'over': 'n_judged', 'rate': true}],
) }},

credit_by_tag as (

    select
        tag,
        yes_rate_samples as n_samples,
        n_asked,
        n_judged,
        n_yes,
        yes_rate,
        yes_rate_se,
        yes_rate_low,
        yes_rate_high,
        asked_weight,
        n_earned,
        earned_weight,
        {{ safe_div('earned_weight', 'fsum(earned_weight order by tag) over ()') }} as share_of_earned_weight,
        n_pairs,
        {{ safe_div('n_pairs', 'sum(n_pairs) over ()') }} as share_of_pairs,
        n_pairs_extended,
        credit_split,
        credit_full,
        credit_split_extended,
        earned_weight - credit_split as uncited_weight,
        dangling_weight,
        {{ safe_div('earned_weight - credit_split', 'earned_weight') }} as uncited_share
    from measured

)

select * from credit_by_tag
order by share_of_pairs desc, tag asc
