with groups as (

    select * from {{ ref('credit_by_group') }}

),

credit_by_context as (

    select
        dimension,
        value,
        {{ credit_columns() }}
    from groups
    where dimension in ('source', 'phase', 'window', 'side')

)

select * from credit_by_context
order by dimension asc, value asc
