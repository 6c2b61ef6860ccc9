with groups as (

    select * from {{ ref('int_credit_by_group') }}

),

failure_exposure as (

    select
        case dimension when 'all' then 'all turns' else value end as exposure,
        n_samples,
        n_turns,
        share_of_turns,
        credit,
        share_of_credit,
        mean_credit,
        mean_credit_se,
        mean_credit_low,
        mean_credit_high,
        mean_credit_full,
        mean_credit_extended,
        n_earning,
        earn_rate,
        earn_rate_se,
        earn_rate_low,
        earn_rate_high,
        {{ safe_div('earn_rate', 'max(case when dimension = \'all\' then earn_rate end) over ()') }}
            as earn_rate_to_baseline,
        {{ safe_div('mean_credit', 'max(case when dimension = \'all\' then mean_credit end) over ()') }}
            as mean_credit_to_baseline
    from groups
    where dimension in ('all', 'exposure')

)

select * from failure_exposure
order by exposure asc
