with groups as (

    select * from {{ ref('credit_by_group') }}

),

credit_by_first_word as (

    select
        value as command_kind,
        {{ credit_columns() }}
    from groups
    where dimension = 'first_word'

)

select * from credit_by_first_word
order by mean_credit desc, command_kind asc
