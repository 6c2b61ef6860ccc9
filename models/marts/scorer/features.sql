{%- set ways = {
    'command': 'in_command', 'read': 'is_read', 'search': 'is_search', 'edit': 'is_edit', 'run': 'is_run',
    'shown': 'in_observation and not failed', 'said': 'in_prose',
} -%}
with pairs as (

    select * from {{ ref('int_scorer_pairs') }}

),

checklists as (

    select * from {{ ref('int_scorer_checklists') }}

),

terms as (

    select * from {{ ref('int_scorer_terms') }}

),

term_turns as (

    select * from {{ ref('int_scorer_term_turns') }}

),

side_counts as (

    select * from {{ ref('int_scorer_sides') }}

),

overlap as (

    select * from {{ ref('int_scorer_overlap') }}

),

-- One row a term of a side: in how many turns, and first in which, each way of meeting it occurs.
met as (

    select
        side_id,
        {% for way, condition in ways.items() -%}
        count(*) filter (where {{ condition }}) as n_{{ way }},
        min(turn) filter (where {{ condition }}) as first_{{ way }},
        {% endfor -%}
        term
    from term_turns
    group by side_id, term

),

-- One row a question of a side, over what it names.
matched as (

    select
        pairs.side_id,
        terms.checklist_id,
        terms.question_index,
        {% for way in ways -%}
        count(*) filter (where met.n_{{ way }} > 0) as n_terms_{{ way }},
        count(*) filter (where met.n_{{ way }} > 0 and terms.kind = 'file') as n_files_{{ way }},
        max(coalesce(met.n_{{ way }}, 0)) as n_turns_{{ way }},
        min(met.first_{{ way }}) as first_{{ way }},
        {% endfor -%}
        count(*) filter (where terms.kind in ('file', 'folder')) as n_files_named,
        count(*) filter (where terms.kind in ('code', 'symbol')) as n_symbols_named,
        count(*) as n_terms
    from pairs
    inner join terms on pairs.checklist_id = terms.checklist_id
    left join met on pairs.side_id = met.side_id and terms.term = met.term
    group by pairs.side_id, terms.checklist_id, terms.question_index

),

features as (

    select
        pairs.side_id,
        pairs.checklist_id,
        checklists.question_index,
        checklists.question_id,
        pairs.found_by,
        checklists.question,
        checklists.tag,
        -- What the question is.
        {{ safe_div('checklists.question_index', 'checklists.n_questions') }} as place_in_checklist,
        checklists.n_questions,
        cast(case checklists.requires when 'action' then 2 when 'read' then 1 when 'neutral' then 0 end as bigint)
            as requires_action,
        coalesce(checklists.step, 0) as reference_step,
        length(checklists.question) as question_characters,
        cast(
            regexp_matches(checklists.question, '\b(not|never|avoid|without|only|unchanged|confined|no)\b', 'i')
            as bigint
        ) as asks_for_restraint,
        cast(regexp_matches(checklists.question, '\b(before|first|within)\b', 'i') as bigint) as asks_for_order,
        cast(regexp_matches(checklists.question, '\b(after|later|then|again)\b', 'i') as bigint)
            as asks_for_sequel,
        cast(regexp_matches(checklists.question, '\b(test|tests|run|runs|execute|pass|fail)\b', 'i') as bigint)
            as asks_for_run,
        cast(
            regexp_matches(checklists.question, '\b(edit|change|modify|replace|fix|add|remove|write)\b', 'i')
            as bigint
        ) as asks_for_edit,
        cast(
            regexp_matches(checklists.question, '\b(read|display|show|open|print|list|search|locate|look)\b', 'i')
            as bigint
        ) as asks_for_read,
        cast(regexp_matches(checklists.question, '\b(state|say|says|claim|explain|describe|name)\b', 'i') as bigint)
            as asks_for_words,
        cast(regexp_matches(checklists.question, '\b(submit|finish|complete|final)\b', 'i') as bigint)
            as asks_for_end,
        try_cast(regexp_extract(checklists.question, '\b([0-9]{2,4}) words\b', 1) as bigint) as words_allowed,
        coalesce(matched.n_terms, 0) as n_terms,
        coalesce(matched.n_files_named, 0) as n_files_named,
        coalesce(matched.n_symbols_named, 0) as n_symbols_named,
        -- What the side did, whatever is asked.
        side_counts.n_turns,
        side_counts.n_commands,
        {{ safe_div('side_counts.n_distinct_commands', 'side_counts.n_commands') }} as share_distinct_commands,
        side_counts.longest_run,
        {{ safe_div('side_counts.n_repeats', 'side_counts.n_turns') }} as share_repeats,
        {{ safe_div('side_counts.n_failed', 'side_counts.n_turns') }} as share_failed,
        side_counts.longest_failures,
        side_counts.n_edits,
        side_counts.n_edits_done,
        side_counts.n_runs,
        side_counts.n_runs_passed,
        side_counts.n_runs_after_edit,
        side_counts.n_runs_passed_after_edit,
        side_counts.n_reads,
        side_counts.n_searches,
        side_counts.n_git,
        side_counts.n_submissions,
        side_counts.n_turns_without_one_block,
        side_counts.n_unclosed,
        side_counts.n_notices,
        side_counts.first_edit as side_first_edit,
        side_counts.last_edit as side_last_edit,
        side_counts.first_run as side_first_run,
        {{ safe_div('side_counts.n_characters', 'side_counts.n_turns') }} as characters_a_turn,
        {{ safe_div('side_counts.n_characters - side_counts.n_command_characters', 'side_counts.n_turns') }}
            as prose_characters_a_turn,
        {{ safe_div('side_counts.n_observation_characters', 'side_counts.n_turns') }} as observation_characters_a_turn,
        -- How the two meet.
        {% for way in ways -%}
        matched.n_terms_{{ way }},
        {{ safe_div('matched.n_terms_' ~ way, 'matched.n_terms') }} as share_terms_{{ way }},
        matched.n_turns_{{ way }},
        matched.first_{{ way }},
        matched.n_files_{{ way }},
        {% endfor -%}
        matched.first_edit - matched.first_shown as shown_before_edit,
        overlap.n_words,
        overlap.command_overlap,
        overlap.prose_overlap
    from pairs
    inner join checklists on pairs.checklist_id = checklists.checklist_id
    inner join side_counts on pairs.side_id = side_counts.side_id
    left join matched
        on
            pairs.side_id = matched.side_id
            and checklists.checklist_id = matched.checklist_id
            and checklists.question_index = matched.question_index
    left join overlap
        on
            pairs.side_id = overlap.side_id
            and checklists.checklist_id = overlap.checklist_id
            and checklists.question_index = overlap.question_index

)

select * from features
