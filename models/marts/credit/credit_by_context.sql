with groups as (

    select * from {{ ref('int_credit_by_group') }}

),

credit_by_context as (

    select
        dimension,
        value,
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
        earn_rate_high
    from groups
    where dimension in ('source', 'phase', 'window', 'side')

)

select * from credit_by_context
order by dimension asc, value asc
