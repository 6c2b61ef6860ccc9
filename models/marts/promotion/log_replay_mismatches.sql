with replayed as (

    select * from {{ ref('log_replay') }}
    where verdict <> 'match'

),

by_measure as (

    {% for measure in ['compliance', 'accuracy', 'preserve'] -%}
    select
        fixture,
        artifact_id,
        line,
        checkpoint,
        '{{ measure }}' as measure,
        {{ measure }}_stated as stated,
        {{ measure }}_replayed as replayed,
        verdict,
        reason
    from replayed
    where {{ measure }}_stated is distinct from {{ measure }}_replayed
    {{ 'union all' if not loop.last }}
    {% endfor %}
),

log_replay_mismatches as (

    select
        fixture,
        artifact_id,
        line,
        checkpoint,
        measure,
        stated,
        replayed,
        case when verdict = 'unknown' then 'unknown' else 'mismatch' end as verdict,
        artifact_id || ', line ' || line || ': ' || measure || case
            when verdict = 'unknown' then ' cannot be replayed: ' || coalesce(reason, 'it was not sampled')
            else ' is stated as ' || coalesce(cast(stated as varchar), 'nothing') || ', replayed ' || replayed
        end as reason
    from by_measure

)

select * from log_replay_mismatches
order by fixture, artifact_id, line, measure
