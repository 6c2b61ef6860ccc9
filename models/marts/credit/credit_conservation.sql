with sides as (

    select * from {{ ref('sides') }}
    where is_counted

),

turns as (

    select * from {{ ref('turns') }}

),

credited as (

    select
        side_id,
        {{ exact_sum('credit_split') }} as credit_split,
        {{ exact_sum('credit_split_extended') }} as credit_split_extended
    from turns
    group by side_id

),

credit_conservation as (

    select
        sides.eval_run_id,
        sides.sample_id,
        sides.rollout,
        sides.side,
        sides.earned_weight,
        coalesce(credited.credit_split, 0.0) as credit_split,
        sides.uncited_weight,
        abs(coalesce(credited.credit_split, 0.0) + sides.uncited_weight - sides.earned_weight) as error_strict,
        coalesce(credited.credit_split_extended, 0.0) as credit_split_extended,
        sides.uncited_weight_extended,
        abs(
            coalesce(credited.credit_split_extended, 0.0) + sides.uncited_weight_extended - sides.earned_weight
        ) as error_extended
    from sides
    left join credited on sides.side_id = credited.side_id

)

select * from credit_conservation
