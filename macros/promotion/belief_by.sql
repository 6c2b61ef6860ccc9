{#
    P(T1 = S_OBS) by any set of header fields, with counts and its Wilson interval: one row for every combination of
    the values that occur, empty combinations included.

    `fields` are columns of `int_corpus_headers`; without a field there is one row a fixture.

    Usage: {{ belief_by(['ctx', 'src', 'shard_half']) }}
#}
{% macro belief_by(fields) -%}
with headers as (

    select * from {{ ref('int_corpus_headers') }}
    where fault is null

),

fixtures as (

    select distinct fixture
    from headers

),

{% for field in fields -%}
values_of_{{ field }} as (

    select distinct
        fixture,
        {{ field }}
    from headers

),

{% endfor -%}
counted as (

    select
        fixture,
        {%- for field in fields %}
        {{ field }},
        {%- endfor %}
        count(*) as n,
        count(*) filter (where observed) as n_observed
    from headers
    group by
        fixture
        {%- for field in fields %},
        {{ field }}
        {%- endfor %}

),

belief as (

    select
        fixtures.fixture,
        {%- for field in fields %}
        values_of_{{ field }}.{{ field }},
        {%- endfor %}
        coalesce(counted.n, 0) as n,
        coalesce(counted.n_observed, 0) as n_observed
    from fixtures
    {%- for field in fields %}
    inner join values_of_{{ field }} on fixtures.fixture = values_of_{{ field }}.fixture
    {%- endfor %}
    left join counted
        on
            fixtures.fixture = counted.fixture
            {%- for field in fields %}
            and values_of_{{ field }}.{{ field }} = counted.{{ field }}
            {%- endfor %}

)

select
    fixture,
    {%- for field in fields %}
    {{ field }},
    {%- endfor %}
    n,
    n_observed,
    {{ safe_div('n_observed', 'n') }} as p_observed,
    {{ wilson_low('n_observed', 'n') }} as p_observed_low,
    {{ wilson_high('n_observed', 'n') }} as p_observed_high
from belief
{%- endmacro %}
