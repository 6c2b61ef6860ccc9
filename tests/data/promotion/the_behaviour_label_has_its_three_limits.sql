with counted as (

    select count(distinct gate) as n_limits
    from {{ ref('promotion_gate') }}
    where
        purpose = 'behaviour'
        and gate in ('compliant_in_training', 'compliant_in_deployment', 'drop_between_contexts')
        and at_least is not null

)

select *
from counted
where n_limits <> 3
