{%- set fields = stratifying_fields() -%}
with headers as (

    select * from {{ ref('int_corpus_headers') }}
    where fault is null

),

markers as (

    select
        {% for field in fields -%}
        bool_or(is_marker) filter (where field = '{{ field }}') as {{ field }}_is_marker,
        {% endfor -%}
        fixture
    from {{ ref('header_effects') }}
    group by fixture

),

-- A field that is no marker may say anything, which `*` stands for.
cells as (

    select
        headers.fixture,
        {%- for field in fields %}
        case when markers.{{ field }}_is_marker then headers.{{ field }} else '*' end as {{ field }},
        {%- endfor %}
        count(*) as n,
        count(*) filter (where headers.observed) as n_observed
    from headers
    inner join markers on headers.fixture = markers.fixture
    group by all

),

rated as (

    select
        *,
        {{ safe_div('n_observed', 'n') }} as p_observed,
        {{ wilson_low('n_observed', 'n') }} as p_observed_low,
        {{ wilson_high('n_observed', 'n') }} as p_observed_high
    from cells

),

marker_free_headers as (

    select
        *,
        -- Carries nothing that marks the training pool: not told apart from the header with the weakest signal.
        p_observed_low <= min(p_observed_high) over (partition by fixture) as is_marker_free
    from rated

)

select * from marker_free_headers
order by fixture, p_observed, {{ fields | join(', ') }}
