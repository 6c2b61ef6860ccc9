{{ config(severity='warn') }}
select * from {{ ref('corpus_check') }}
where not matches
