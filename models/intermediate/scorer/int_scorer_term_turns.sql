{#
    Where a side names, shows, searches, edits, runs or speaks of a term. Terms are few and short, turns are many and long:
    the texts are streamed past the terms of their side once, and only what was found is kept.
#}
with pairs as (

    select * from {{ ref('int_scorer_pairs') }}

),

terms as (

    select * from {{ ref('int_scorer_terms') }}

),

texts as (

    select * from {{ ref('int_scorer_texts') }}

),

side_terms as (

    select distinct
        pairs.side_id,
        terms.term,
        terms.short_term
    from pairs
    inner join terms on pairs.checklist_id = terms.checklist_id

),

looked_at as (

    select
        side_terms.side_id,
        side_terms.term,
        texts.turn,
        texts.command_kind,
        coalesce(texts.failed, false) as failed,
        coalesce(contains(texts.command, side_terms.short_term), false) as in_command,
        coalesce(contains(texts.seen, side_terms.short_term), false) as in_observation,
        coalesce(contains(split_part(texts.said, '```', 1), side_terms.short_term), false) as in_prose
    from texts
    inner join side_terms on texts.side_id = side_terms.side_id

),

int_scorer_term_turns as (

    select
        side_id,
        term,
        turn,
        failed,
        in_command,
        in_observation,
        in_prose,
        in_command and command_kind in ('cat -n', 'sed -n', 'cat') as is_read,
        in_command and command_kind in ('grep', 'grep -r', 'find/ls') as is_search,
        in_command and command_kind = 'edit' as is_edit,
        in_command and command_kind = 'pytest/python' as is_run
    from looked_at
    where in_command or in_observation or in_prose

)

select * from int_scorer_term_turns
