{#
    What a question names: files and folders by their form, code in backticks, names with an underscore or a hump, quoted
    text, numbers. The longest few count: a question names one thing or two, and a text of a thousand names costs no more.
#}
with checklists as (

    select * from {{ ref('int_scorer_checklists') }}

),

{% set forms = [
    ('file', '([A-Za-z0-9_./-]*[A-Za-z0-9_-][.][A-Za-z][A-Za-z0-9]{0,4})(?:[^A-Za-z0-9_]|$)'),
    ('folder', '(?:^|\\s)([A-Za-z0-9_.-]+/)(?:[\\s?,.]|$)'),
    ('code', '`([^`]{2,200})`'),
    ('symbol', '(?:^|[^A-Za-z0-9_`])([A-Za-z][A-Za-z0-9]*_[A-Za-z0-9_]+|[a-z]+[A-Z][A-Za-z0-9]+)'),
    ('quoted', '["\']([^"\']{3,80})["\']'),
    ('number', '(?:^|\\s)([0-9]{2,12})(?:[\\s?,.]|$)'),
] -%}
named as (

    {% for kind, form in forms -%}
    select
        checklist_id,
        question_index,
        '{{ kind }}' as kind,
        {{ loop.index }} as kind_order,
        unnest(regexp_extract_all(question, '{{ form | replace("'", "''") | replace("\\\\", "\\") }}', 1)) as term
    from checklists
    {{ 'union all' if not loop.last }}
    {% endfor %}
),

once as (

    select
        checklist_id,
        question_index,
        term,
        arg_min(kind, kind_order) as kind
    from named
    where length(term) >= 2
    group by checklist_id, question_index, term

),

int_scorer_terms as (

    select
        checklist_id,
        question_index,
        kind,
        term,
        -- A command may name a file from inside its folder.
        case when kind = 'file' then regexp_extract(term, '([^/]+)$', 1) else term end as short_term
    from once
    qualify
        row_number() over (partition by checklist_id, question_index order by length(term) desc, term)
        <= {{ var('scorer_terms_a_question') }}

)

select * from int_scorer_terms
