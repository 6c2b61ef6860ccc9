-- What would tell a model in training what it is validated on.
with mix_rows as (

    select * from {{ ref('mix_rows') }}

)

select
    near_duplicate_cluster,
    count(distinct split) as n_splits
from mix_rows
group by near_duplicate_cluster
having count(distinct split) > 1
