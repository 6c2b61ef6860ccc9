{{ config(severity='warn') }}
select * from {{ ref('log_replay_mismatches') }}
