with groups as (

    select * from {{ ref('credit_by_group') }}

),

credit_by_command as (

    select
        value as command_kind,
        {{ credit_columns() }}
    from groups
    where dimension = 'behaviour'

)

select * from credit_by_command
order by mean_credit desc, command_kind asc
