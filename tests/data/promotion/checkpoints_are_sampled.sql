{{ config(severity='warn') }}
select * from {{ ref('checkpoint_samples') }}
where status <> 'sampled'
