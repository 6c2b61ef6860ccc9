-- Nothing is dropped silently: every line of generated samples and scoring results made two sides or is listed.
with sides as (

    select * from {{ ref('sides') }}

),

duplicate_lines as (

    select * from {{ ref('duplicate_lines') }}

),

lines as (

    select
        'generated_samples' as kind,
        artifact_id,
        line
    from {{ ref('stg_sn97__generated_samples') }}
    where format = 'current'
    union all
    select
        'scoring_results' as kind,
        artifact_id,
        line
    from {{ ref('stg_sn97__scoring_results') }}

),

used as (

    select
        'generated_samples' as kind,
        artifact_id,
        line,
        count(*) as n_sides
    from sides
    where line is not null
    group by artifact_id, line
    union all
    select
        'scoring_results' as kind,
        scoring_artifact_id as artifact_id,
        scoring_line as line,
        count(*) as n_sides
    from sides
    where scoring_line is not null
    group by scoring_artifact_id, scoring_line

)

select
    lines.kind,
    lines.artifact_id,
    lines.line,
    used.n_sides,
    duplicate_lines.reason
from lines
left join used
    on
        lines.kind = used.kind
        and lines.artifact_id = used.artifact_id
        and lines.line = used.line
left join duplicate_lines
    on
        lines.kind = duplicate_lines.kind
        and lines.artifact_id = duplicate_lines.artifact_id
        and lines.line = duplicate_lines.line
where coalesce(used.n_sides, 0) <> case when duplicate_lines.reason is null then 2 else 0 end
