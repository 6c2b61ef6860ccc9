with groups as (

    select * from {{ ref('credit_by_group') }}

),

failure_exposure as (

    select
        case dimension when 'all' then 'all turns' else value end as exposure,
        {{ credit_columns() }},
        {{ safe_div('earn_rate', 'max(case when dimension = \'all\' then earn_rate end) over ()') }}
            as earn_rate_to_baseline,
        {{ safe_div('mean_credit', 'max(case when dimension = \'all\' then mean_credit end) over ()') }}
            as mean_credit_to_baseline
    from groups
    where dimension in ('all', 'exposure')

)

select * from failure_exposure
order by exposure asc
