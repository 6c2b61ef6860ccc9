with hits as (

    select * from {{ ref('mix_benchmark_hits') }}

),

verdicts as (

    select * from {{ ref('mix_candidates') }}

),

mix_rows as (

    select * from {{ ref('mix_rows') }}

),

decontamination_hits as (

    select
        hits.instance_id,
        hits.hit,
        hits.benchmark,
        hits.benchmark_key,
        verdicts.mix,
        count(*) as n_candidate_rows,
        count(mix_rows.row_id) as n_rows
    from hits
    inner join verdicts on hits.instance_id = verdicts.instance_id
    left join mix_rows on verdicts.mix = mix_rows.mix and verdicts.row_id = mix_rows.row_id
    group by hits.instance_id, hits.hit, hits.benchmark, hits.benchmark_key, verdicts.mix

)

select * from decontamination_hits
order by hit asc, instance_id asc, benchmark asc, benchmark_key asc, mix asc
