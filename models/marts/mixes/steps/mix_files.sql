with mix_rows as (

    select * from {{ ref('mix_rows') }}

),

mix_files as (

    select
        mix as file,
        mix,
        row_id
    from mix_rows
    union all
    select
        'final_v1' as file,
        mix,
        row_id
    from mix_rows
    where in_final_v1
    union all
    select
        'final_v2' as file,
        mix,
        row_id
    from mix_rows
    where in_final_v2

)

select * from mix_files
