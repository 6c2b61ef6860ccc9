with replays as (

    select * from {{ ref('int_duel_replays') }}

),

rules as (

    select * from {{ ref('teacher_duel_rules') }}

),

margins as (

    select * from {{ landed('steps', 'teacher_duel_margins', made_by='int_reference_facts') }}

),

judged as (

    select
        replays.challenge_id,
        replays.manifest_sha256,
        replays.corpus_epoch,
        replays.rule_family,
        replays.rule_version,
        replays.challenger_wins as own_challenger_wins,
        replays.published_challenger_wins,
        rules.version,
        rules.family,
        margins.n_paired_turns,
        margins.margin,
        margins.se,
        margins.z,
        {{ duel_gate('rules', 'replays') }} as rejection_reason,
        {{ duel_win('rules', 'margins', 'replays') }} as challenger_wins,
        replays.replay_fault as unknown_reason
    from replays
    cross join rules
    left join margins
        on
            replays.artifact_id = margins.artifact_id
            and replays.line = margins.line
            and rules.tau is not distinct from margins.tau

),

duel_what_if as (

    select
        challenge_id,
        manifest_sha256,
        corpus_epoch,
        version,
        family,
        coalesce(version = rule_version, false) as is_own_version,
        n_paired_turns,
        margin,
        se,
        z,
        rejection_reason,
        challenger_wins,
        published_challenger_wins,
        challenger_wins <> published_challenger_wins as flips,
        case when challenger_wins is null then 'unknown' else 'replayed' end as verdict,
        unknown_reason
    from judged

)

select * from duel_what_if
order by corpus_epoch, challenge_id, manifest_sha256, version
