{%- set parameters = ['tau', 'k_sigma', 'min_margin', 'min_thought_chars', 'causality_gamma'] -%}
with records as (

    select * from {{ ref('int_duel_records') }}

),

-- What is no finite number is null.
duels as (

    select
        {% for name in parameters -%}
        case
            when isfinite(try_cast(duel_params ->> '$.{{ name }}' as double))
                then try_cast(duel_params ->> '$.{{ name }}' as double)
        end as stated_{{ name }},
        {% endfor -%}
        *
    from {{ ref('stg_sn120__duels') }}

),

margins as (

    select * from {{ landed('steps', 'teacher_duel_margins', made_by='int_reference_facts') }}

),

gates as (

    select * from {{ landed('steps', 'teacher_duel_gates', made_by='int_reference_facts') }}

),

-- The parameters a record states about itself. It states no version: the parameters are the rule.
stated as (

    select
        records.artifact_id,
        records.line,
        records.challenge_id,
        records.manifest_sha256,
        records.corpus_epoch,
        records.published_at,
        records.rejection_reason as published_rejection_reason,
        duels.challenger_wins as published_challenger_wins,
        duels.margin as published_margin,
        duels.se as published_se,
        duels.z as published_z,
        duels.n_paired_turns as published_n_paired_turns,
        duels.rejection_reason is not null and duels.n_challenger_rows is null as has_no_duel,
        duels.stated_tau as tau,
        coalesce(duels.stated_k_sigma, duels.k_sigma) as k_sigma,
        coalesce(duels.stated_min_margin, duels.min_margin, 0) as min_margin,
        coalesce(duels.stated_min_thought_chars, 0) as min_thought_chars,
        case
            when try_cast(duels.duel_params ->> '$.causality_gate' as boolean)
                then coalesce(duels.stated_causality_gamma, 0.3)
            else 0
        end as causality_gamma,
        case
            when duels.duel_params is null and duels.gates is not null then 's_star_v2'
            when duels.duel_params is null then 'unknown'
            -- A parameter that is there and no number is no rule, and not the rule without it.
            {%- for name in parameters %}
            when duels.duel_params ->> '$.{{ name }}' is not null and duels.stated_{{ name }} is null then 'unknown'
            {%- endfor %}
            when
                duels.duel_params ->> '$.score_mode' is not null
                or duels.duel_params ->> '$.band_c' is not null
                or duels.duel_params ->> '$.forfeit_turn_score' is not null
                then 'min_rg'
            when duels.stated_k_sigma is null and duels.k_sigma is null then 'unknown'
            when duels.stated_tau > 0 then 'reason_v4'
            else 'reason_v3'
        end as rule_family
    from records
    inner join duels on records.artifact_id = duels.artifact_id and records.line = duels.line

),

measured as (

    select
        stated.*,
        case
            when stated.rule_family = 'reason_v3' and stated.causality_gamma > 0 then '6'
            when stated.rule_family = 'reason_v3' and stated.min_thought_chars > 0 then '5'
            when stated.rule_family = 'reason_v3' and stated.min_margin > 0 then '4'
            when stated.rule_family = 'reason_v3' and stated.k_sigma = 2 then '3b'
            when stated.rule_family = 'reason_v3' then '3a'
            when stated.rule_family = 'reason_v4' and stated.min_margin = 0.001 then '8'
            when
                stated.rule_family = 'reason_v4'
                and stated.published_at >= cast('2026-08-22 00:00:00+00' as timestamp with time zone)
                then '9'
            when stated.rule_family = 'reason_v4' then '7'
        end as rule_version,
        margins.n_paired_turns as gate_paired_turns,
        gates.median_thought_chars,
        gates.causality_pass_rate,
        gates.n_king_thoughts,
        gates.king_common_ending,
        gates.king_common_ending_share,
        gates.n_challenger_thoughts,
        gates.challenger_common_ending,
        gates.challenger_common_ending_share,
        -- Why the rows cannot be scored whatever the rule.
        case when stated.has_no_duel then 'rejected_before_the_duel' else gates.unknown_reason end as replay_fault,
        margins.margin as paired_margin,
        margins.se as paired_se,
        margins.z as paired_z
    from stated
    left join gates on stated.artifact_id = gates.artifact_id and stated.line = gates.line
    left join margins
        on
            stated.artifact_id = margins.artifact_id
            and stated.line = margins.line
            and stated.tau is not distinct from margins.tau

),

-- A record is replayed under its own rule where that rule is known and its rows are whole.
replayed as (

    select
        *,
        case
            when replay_fault is not null then replay_fault
            when rule_family = 's_star_v2' then 's_star_v2_is_not_documented'
            when rule_family = 'min_rg' then 'min_rg_needs_another_measure'
            when rule_family = 'unknown' then 'record_states_no_rule'
            when paired_margin is null then 'tempering_is_not_a_number'
        end as unknown_reason
    from measured

),

known as (

    select
        *,
        case when unknown_reason is null then paired_margin end as margin,
        case when unknown_reason is null then paired_se end as se,
        case when unknown_reason is null then paired_z end as z,
        case when unknown_reason is null then gate_paired_turns end as n_paired_turns
    from replayed

),

int_duel_replays as (

    select
        known.*,
        case when known.unknown_reason is null then {{ duel_gate('known', 'known') }} end as rejection_reason,
        {{ duel_win('known', 'known', 'known') }} as challenger_wins,
        case when known.unknown_reason is null then 'replayed' else 'unknown' end as verdict
    from known

)

select * from int_duel_replays
