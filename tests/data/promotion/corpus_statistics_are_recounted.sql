{{ config(severity='warn') }}
select
    fixture,
    statistic,
    name,
    n_stated,
    n_counted
from {{ ref('corpus_check') }}
where not matches
