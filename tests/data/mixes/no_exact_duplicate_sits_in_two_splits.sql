-- What would tell a model in training what it is validated on.
with mix_rows as (

    select * from {{ ref('mix_rows') }}

)

select
    row_hash,
    count(distinct split) as n_splits
from mix_rows
group by row_hash
having count(distinct split) > 1
