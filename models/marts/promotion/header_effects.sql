with headers as (

    select * from {{ ref('int_corpus_headers') }}
    where fault is null

),

{% for field in header_fields() -%}
{%- set others = stratifying_fields() | reject('equalto', field) | list -%}
-- Episodes that agree in every other field: what is left of the difference is the field's own.
cells_of_{{ field }} as (

    select
        fixture,
        {{ others | join(', ') }},
        {{ field }} as value,
        count(*) as n,
        count(*) filter (where observed) as n_observed
    from headers
    group by fixture, {{ others | join(', ') }}, {{ field }}

),

strata_of_{{ field }} as (

    select
        fixture,
        '{{ field }}' as field,
        value,
        n,
        n_observed,
        sum(n) over stratum as n_stratum,
        sum(n_observed) over stratum as n_observed_stratum,
        count(*) over stratum as n_values_stratum,
        -- Each stratum's degrees of freedom are counted once, at its first value.
        row_number() over (stratum order by value) as nth_value
    from cells_of_{{ field }}
    window stratum as (partition by fixture, {{ others | join(', ') }})

),

{% endfor -%}
cells as (

    {% for field in header_fields() -%}
    select * from strata_of_{{ field }}
    {{ 'union all' if not loop.last }}
    {% endfor %}
),

whole as (

    select
        fixture,
        count(*) as n_all,
        count(*) filter (where observed) as n_observed_all
    from headers
    group by fixture

),

n_values as (

    select
        fixture,
        field,
        count(distinct value) as n_values
    from cells
    group by fixture, field

),

by_value as (

    select
        cells.fixture,
        cells.field,
        cells.value,
        n_values.n_values,
        sum(cells.n) as n,
        sum(cells.n_observed) as n_observed,
        -- Directly standardised: strata that hold every value of the field, weighted by their size.
        fsum(
            case
                when cells.n_values_stratum = n_values.n_values
                    then cells.n_stratum * (cast(cells.n_observed as double) / cells.n)
            end
            order by cells.n_stratum, cells.n_observed, cells.n
        ) / nullif(sum(cells.n_stratum) filter (where cells.n_values_stratum = n_values.n_values), 0) as p_standardised,
        sum(cells.n) filter (where cells.n_values_stratum = n_values.n_values) as n_matched
    from cells
    inner join n_values on cells.fixture = n_values.fixture and cells.field = n_values.field
    group by cells.fixture, cells.field, cells.value, n_values.n_values

),

alone as (

    select
        by_value.fixture,
        by_value.field,
        by_value.n_values,
        sum(by_value.n) as n,
        sum(by_value.n_matched) as n_matched,
        max(by_value.n_observed / by_value.n) - min(by_value.n_observed / by_value.n) as effect_alone,
        max(by_value.p_standardised) - min(by_value.p_standardised) as effect_given_others,
        arg_max(by_value.value, (by_value.n_observed / by_value.n, by_value.value)) as highest_value,
        arg_min(by_value.value, (by_value.n_observed / by_value.n, by_value.value)) as lowest_value,
        fsum(
            pow(by_value.n_observed - by_value.n * (whole.n_observed_all / whole.n_all), 2)
            / nullif(
                by_value.n * (whole.n_observed_all / whole.n_all) * (1 - whole.n_observed_all / whole.n_all), 0
            )
            order by by_value.value
        ) as chi_square_alone,
        by_value.n_values - 1 as degrees_alone
    from by_value
    inner join whole on by_value.fixture = whole.fixture
    group by by_value.fixture, by_value.field, by_value.n_values

),

given_others as (

    select
        fixture,
        field,
        -- (n - 1) / n makes the statistic's expectation its degrees of freedom, however thin a stratum is.
        coalesce(
            fsum(
                pow(n_observed - n * (n_observed_stratum / n_stratum), 2)
                / (n * (n_observed_stratum / n_stratum) * (1 - n_observed_stratum / n_stratum))
                * (n_stratum - 1) / n_stratum
                order by n_stratum, n_observed_stratum, n, n_observed
            ),
            0
        ) as chi_square_given_others,
        coalesce(sum(n_values_stratum - 1) filter (where nth_value = 1), 0) as degrees_given_others
    from cells
    where n_observed_stratum > 0 and n_observed_stratum < n_stratum and n_values_stratum > 1
    group by fixture, field

),

tested as (

    select
        alone.*,
        given_others.chi_square_given_others,
        given_others.degrees_given_others,
        {{ chi_square_z('alone.chi_square_alone', 'alone.degrees_alone') }} as z_alone,
        {{ chi_square_z('given_others.chi_square_given_others', 'given_others.degrees_given_others') }}
            as z_given_others
    from alone
    left join given_others on alone.fixture = given_others.fixture and alone.field = given_others.field

),

header_effects as (

    select
        fixture,
        field,
        row_number() over (
            partition by fixture
            order by effect_given_others desc nulls last, effect_alone desc, field asc
        ) as rank,
        n_values,
        cast(n as bigint) as n,
        cast(n_matched as bigint) as n_matched,
        effect_alone,
        z_alone,
        effect_given_others,
        z_given_others,
        highest_value,
        lowest_value,
        coalesce(
            effect_given_others >= {{ var('marker_effect') }} and z_given_others >= {{ var('marker_z') }}, false
        ) as is_marker
    from tested

)

select * from header_effects
order by fixture, rank
