select
    gates.purpose,
    gates.gate,
    gates.context,
    gates.measure
from {{ ref('promotion_gates') }} as gates
left join {{ ref('promotion_contexts') }} as contexts on gates.context = contexts.context
where
    (
        gates.purpose = 'promotion'
        and (
            contexts.context is null
            or gates.measure not in (
                'compliance', 'accuracy', 'observed_restricted', 'unobserved_restricted', 'preserve_restricted'
            )
        )
    )
    or gates.limit_value is null
