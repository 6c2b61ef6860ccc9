{%- set deduplicates = var('deduplicate_references') -%}

with records as (

    select * from {{ ref('int_duel_records') }}

),

teacher_references as (

    select
        artifact_id,
        line,
        turn_id,
        traj_id,
        reference_index,
        lp_own,
        lp_empty
    from {{ ref('stg_sn120__teacher_references') }}

),

facts as (

    select * from {{ ref('int_reference_facts') }}

),

described as (

    select
        records.corpus_epoch,
        records.challenge_id,
        records.challenge_number,
        records.manifest_sha256,
        records.record_order,
        records.published_at,
        teacher_references.*,
        case
            when isfinite(teacher_references.lp_own - teacher_references.lp_empty)
                then teacher_references.lp_own - teacher_references.lp_empty
        end as teacher_lift,
        facts.dialect,
        facts.first_token,
        facts.action_key,
        facts.norm_key,
        facts.content_key
    from records
    inner join teacher_references
        on
            records.artifact_id = teacher_references.artifact_id
            and records.line = teacher_references.line
    inner join facts
        on
            teacher_references.artifact_id = facts.artifact_id
            and teacher_references.line = facts.line
            and teacher_references.turn_id = facts.turn_id
            and teacher_references.reference_index = facts.reference_index

),

-- A duel may well draw the same sample twice; what recurs in a LATER duel was taken from a cache.
counted_within_duels as (

    select
        *,
        row_number() over (
            partition by corpus_epoch, turn_id, record_order, content_key
            order by reference_index
        ) as nth_in_duel
    from described

),

counted as (

    select
        *,
        row_number() over (
            partition by corpus_epoch, turn_id, content_key, nth_in_duel
            order by record_order
        ) > 1 as is_recurrence
    from counted_within_duels

),

int_pooled_references as (

    select
        corpus_epoch,
        challenge_id,
        manifest_sha256,
        turn_id,
        reference_index as ref_index,
        artifact_id,
        line,
        challenge_number,
        record_order,
        published_at,
        traj_id,
        lp_own,
        lp_empty,
        teacher_lift,
        dialect,
        first_token,
        action_key,
        norm_key,
        is_recurrence,
        dialect = 'bash' {%- if deduplicates %} and not is_recurrence {%- endif %} as in_pool,
        row_number() over (
            partition by corpus_epoch, turn_id
            order by record_order, reference_index
        ) as pool_order
    from counted

)

select * from int_pooled_references
