{{ config(severity='warn') }}
select * from {{ ref('sample_audit_mismatches') }}
