with counted as (

    select count(distinct gate) as n_limits
    from {{ ref('promotion_gates') }}
    where
        purpose = 'behaviour'
        and gate in ('compliant_in_training', 'compliant_in_deployment', 'drop_between_contexts')
        and limit_value is not null

)

select *
from counted
where n_limits <> 3
