{#
    How many of a question's words a side's commands and prose have, each word weighed by how rare it is among questions
    (the logarithm of the share of questions with it: tf-idf with each word counted once).
#}
with checklists as (

    select * from {{ ref('int_scorer_checklists') }}

),

pairs as (

    select * from {{ ref('int_scorer_pairs') }}

),

texts as (

    select * from {{ ref('int_scorer_texts') }}

),

{% set words = "regexp_extract_all(lower({}), '[a-z][a-z0-9_]{{2,40}}')" -%}
question_words as (

    select distinct
        checklist_id,
        question_index,
        unnest({{ words.format('question') }}) as word
    from checklists

),

rarity as (

    select
        word,
        ln((select count(*) from checklists) / count(*)) as rarity
    from question_words
    group by word

),

command_words as (

    select distinct
        side_id,
        unnest({{ words.format("coalesce(command, '')") }}) as word
    from texts

),

prose_words as (

    select distinct
        side_id,
        unnest({{ words.format("coalesce(split_part(said, '```', 1), '')") }}) as word
    from texts

),

asked as (

    select
        pairs.side_id,
        question_words.checklist_id,
        question_words.question_index,
        question_words.word,
        rarity.rarity
    from pairs
    inner join question_words on pairs.checklist_id = question_words.checklist_id
    inner join rarity on question_words.word = rarity.word

),

int_scorer_overlap as (

    select
        asked.side_id,
        asked.checklist_id,
        asked.question_index,
        count(*) as n_words,
        {{ safe_div(exact_sum('asked.rarity', 'command_words.word is not null'), exact_sum('asked.rarity')) }}
            as command_overlap,
        {{ safe_div(exact_sum('asked.rarity', 'prose_words.word is not null'), exact_sum('asked.rarity')) }}
            as prose_overlap
    from asked
    left join command_words on asked.side_id = command_words.side_id and asked.word = command_words.word
    left join prose_words on asked.side_id = prose_words.side_id and asked.word = prose_words.word
    group by asked.side_id, asked.checklist_id, asked.question_index

)

select * from int_scorer_overlap
