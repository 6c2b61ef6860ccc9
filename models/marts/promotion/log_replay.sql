with metrics as (

    select * from {{ ref('stg_gateway__metrics') }}

),

-- `step150` and `step0150` are one step: which of two files a line speaks of nobody can say.
files as (

    select
        fixture,
        run,
        step,
        case when count(*) = 1 then min(checkpoint) end as checkpoint,
        count(*) as n_files
    from {{ ref('int_checkpoint_files') }}
    group by fixture, run, step

),

replayed as (

    select * from {{ ref('measures_by_condition') }}
    where experiment = 'log'

),

compared as (

    select
        metrics.fixture,
        metrics.run,
        metrics.step,
        metrics.artifact_id,
        metrics.line,
        files.checkpoint,
        replayed.n,
        replayed.seed,
        metrics.compliance_train as compliance_stated,
        {{ round_like_python('replayed.compliance', 3) }} as compliance_replayed,
        metrics.accuracy_train as accuracy_stated,
        {{ round_like_python('replayed.accuracy', 3) }} as accuracy_replayed,
        metrics.preserve_rate as preserve_stated,
        {{ round_like_python('replayed.preserve_restricted', 3) }} as preserve_replayed,
        case
            when files.n_files > 1 then 'several checkpoints of this run and step'
            when files.checkpoint is null then 'no checkpoint of this run and step'
            else replayed.reason
        end as reason
    from metrics
    left join files
        on metrics.fixture = files.fixture and metrics.run = files.run and metrics.step = files.step
    left join replayed on files.fixture = replayed.fixture and files.checkpoint = replayed.checkpoint

),

log_replay as (

    select
        fixture,
        run,
        step,
        artifact_id,
        line,
        checkpoint,
        n,
        seed,
        {%- for measure in ['compliance', 'accuracy', 'preserve'] %}
        {{ measure }}_stated,
        {{ measure }}_replayed,
        {%- endfor %}
        case
            when n is null then 'unknown'
            when
                compliance_stated = compliance_replayed
                and accuracy_stated = accuracy_replayed
                and preserve_stated = preserve_replayed
                then 'match'
            else 'mismatch'
        end as verdict,
        reason
    from compared

)

select * from log_replay
order by fixture, artifact_id, line
