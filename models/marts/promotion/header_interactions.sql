with headers as (

    select * from {{ ref('int_corpus_headers') }}
    where fault is null

),

{% set fields = stratifying_fields() -%}
cells as (

    {% for first in fields -%}
    {%- for second in fields[loop.index:] -%}
    select
        fixture,
        '{{ first }}' as field,
        '{{ second }}' as other_field,
        {{ first }} as value,
        {{ second }} as other_value,
        count(*) as n,
        count(*) filter (where observed) as n_observed
    from headers
    group by fixture, {{ first }}, {{ second }}
    {{ 'union all' if not (loop.last and first == fields[-2]) }}
    {% endfor -%}
    {%- endfor %}
),

estimated as (

    select
        *,
        n_observed / n as p_observed,
        -- A cell of zeros alone still has a variance.
        ((n_observed + 0.5) / (n + 1)) * (1 - (n_observed + 0.5) / (n + 1)) / n as variance,
        count(*) over pair as n_cells
    from cells
    window pair as (partition by fixture, field, other_field)

),

sized as (

    select
        fixture,
        field,
        other_field,
        count(distinct value) as n_values,
        count(distinct other_value) as n_other_values
    from cells
    group by fixture, field, other_field

),

-- What the two fields together do beyond the sum of what each does, values weighted equally.
residuals as (

    select
        estimated.*,
        sized.n_values,
        sized.n_other_values,
        estimated.p_observed - avg(estimated.p_observed) over by_value
        - avg(estimated.p_observed) over by_other_value
        + avg(estimated.p_observed) over pair as beyond_the_sum,
        sum(estimated.variance) over by_value as variance_of_value,
        sum(estimated.variance) over by_other_value as variance_of_other_value,
        sum(estimated.variance) over pair as variance_of_pair
    from estimated
    inner join sized
        on
            estimated.fixture = sized.fixture
            and estimated.field = sized.field
            and estimated.other_field = sized.other_field
    where estimated.n_cells = sized.n_values * sized.n_other_values
    window
        pair as (partition by estimated.fixture, estimated.field, estimated.other_field),
        by_value as (partition by estimated.fixture, estimated.field, estimated.other_field, estimated.value),
        by_other_value as (
            partition by estimated.fixture, estimated.field, estimated.other_field, estimated.other_value
        )

),

scored as (

    select
        *,
        sqrt(
            pow((1 - 1 / n_values) * (1 - 1 / n_other_values), 2) * variance
            + pow((1 - 1 / n_values) / n_other_values, 2) * (variance_of_value - variance)
            + pow((1 - 1 / n_other_values) / n_values, 2) * (variance_of_other_value - variance)
            + pow(1 / (n_values * n_other_values), 2)
            * (variance_of_pair - variance_of_value - variance_of_other_value + variance)
        ) as standard_error
    from residuals

),

largest as (

    select *
    from scored
    qualify row_number() over (
        partition by fixture, field, other_field
        order by round(abs(beyond_the_sum), 9) desc, value, other_value
    ) = 1

),

header_interactions as (

    select
        fixture,
        field,
        other_field,
        value,
        other_value,
        n,
        round(p_observed, 9) as p_observed,
        round(beyond_the_sum, 9) as beyond_the_sum,
        round(beyond_the_sum / standard_error, 6) as z,
        abs(beyond_the_sum) >= {{ marker_effect() }}
        and abs(beyond_the_sum / standard_error) >= {{ marker_z() }} as is_interaction
    from largest

)

select * from header_interactions
order by fixture, abs(beyond_the_sum) desc, field, other_field
