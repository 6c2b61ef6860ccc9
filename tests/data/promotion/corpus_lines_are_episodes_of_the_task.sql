{{ config(severity='warn') }}
select * from {{ ref('corpus_faults') }}
