select
    fixture,
    checkpoint,
    verdict
from {{ ref('decisions') }}
where
    promote and (
        verdict <> 'pass'
        or compliance_deployment is null
        or accuracy_deployment is null
        or n_deployment is null
    )
