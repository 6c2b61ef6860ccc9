with groups as (

    select * from {{ ref('int_credit_by_group') }}

),

credit_by_first_word as (

    select
        value as command_kind,
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
    where dimension = 'first_word'

)

select * from credit_by_first_word
order by mean_credit desc, command_kind asc
