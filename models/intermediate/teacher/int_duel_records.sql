{#- The switch of the chosen epoch; empty means every epoch, each pooled for itself. -#}
{%- set corpus_epoch = var('corpus_epoch') | string | trim -%}
{%- if corpus_epoch and not corpus_epoch.isdigit() -%}
    {{ exceptions.raise_compiler_error("corpus_epoch is a whole number or empty, not '" ~ corpus_epoch ~ "'") }}
{%- endif -%}

with duels as (

    select * from {{ ref('stg_sn120__duels') }}

),

eval_index as (

    select * from {{ ref('stg_sn120__eval_index') }}

),

-- The last line of a repeated challenge holds; the revision tells two challenges of one number apart.
index_lines as (

    select
        challenge_id,
        revision,
        appended_at,
        row_number() over (
            partition by challenge_id, revision
            order by artifact_id desc, line desc
        ) as lines_after
    from eval_index

),

-- A record that lies in the tree twice counts once, under the first of its files.
identified as (

    select
        duels.*,
        index_lines.appended_at as published_at,
        row_number() over (
            partition by duels.challenge_id, duels.manifest_sha256
            order by duels.artifact_id, duels.line
        ) as nth_of_record
    from duels
    left join index_lines
        on
            duels.challenge_id = index_lines.challenge_id
            and duels.challenger_revision = index_lines.revision
            and index_lines.lines_after = 1

),

chosen as (

    select * from identified
    where nth_of_record = 1 {%- if corpus_epoch %} and corpus_epoch = {{ corpus_epoch | int }} {%- endif %}

),

int_duel_records as (

    select
        artifact_id,
        line,
        challenge_id,
        challenge_number,
        manifest_sha256,
        corpus_epoch,
        published_at,
        n_turn_ids,
        n_teacher_references,
        coalesce(rejection_reason, verdict_rejection_reason) as rejection_reason,
        -- Pool order: by number; the rest only settles numbers that occur twice.
        row_number() over (
            order by
                challenge_number nulls last,
                challenge_id,
                manifest_sha256 nulls last,
                artifact_id,
                line
        ) as record_order
    from chosen

)

select * from int_duel_records
