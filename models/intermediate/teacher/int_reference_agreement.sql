{%- set same_turn = 'corpus_epoch, turn_id, in_pool' -%}

with pooled as (

    select * from {{ ref('int_pooled_references') }}

),

-- How many references of the pool share the token, the action, the normalised command of this one.
counted as (

    select
        *,
        count(*) over (partition by {{ same_turn }}, first_token) as n_same_token,
        min(pool_order) over (partition by {{ same_turn }}, first_token) as token_first_at,
        count(*) over (partition by {{ same_turn }}, action_key) as n_same_action,
        count(*) over (partition by {{ same_turn }}, norm_key) as n_same_norm
    from pooled

),

-- First the modal token (of equally common ones the first in pool order), then the highest lift, before any filter.
placed as (

    select
        *,
        in_pool and row_number() over (
            partition by {{ same_turn }}
            order by n_same_token desc, token_first_at asc, teacher_lift desc nulls last, pool_order asc
        ) = 1 as is_selected
    from counted

),

-- What was published of a turn, whether it is in the pool or not, and the pool.
int_reference_agreement as (

    select
        corpus_epoch,
        turn_id,
        min(traj_id) as traj_id,
        count(*) filter (where in_pool) as n_pool_refs,
        count(*) as n_published_refs,
        count(*) filter (where dialect = 'bash' and not is_recurrence) as n_distinct_refs,
        count(*) filter (where dialect <> 'bash') as n_other_dialect_refs,
        count(distinct record_order) filter (where in_pool) as n_duels,
        {%- for kind in ['token', 'action', 'norm'] %}
        {{ safe_div('max(n_same_' ~ kind ~ ') filter (where in_pool)', 'count(*) filter (where in_pool)') }}
            as modal_{{ '' if kind == 'token' else kind ~ '_' }}share,
        {%- endfor %}
        count(distinct action_key) filter (where in_pool) as n_distinct_actions,
        count(distinct norm_key) filter (where in_pool) as n_distinct_commands,
        count(*) filter (where in_pool) = 1 as is_vacuous,
        max(first_token) filter (where is_selected) as modal_token,
        {%- for column in [
            'challenge_id', 'manifest_sha256', 'ref_index', 'artifact_id', 'line', 'published_at', 'teacher_lift'
        ] %}
        max({{ column }}) filter (where is_selected) as {{ column }},
        {%- endfor %}
        max(pool_order) filter (where is_selected) as selected_pool_order
    from placed
    group by corpus_epoch, turn_id
    having count(*) filter (where in_pool) > 0

)

select * from int_reference_agreement
