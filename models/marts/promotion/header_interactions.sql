with headers as (

    select * from {{ ref('int_corpus_headers') }}
    where fault is null

),

full_cells as (

    select
        fixture,
        {{ stratifying_fields() | join(', ') }},
        count(*) as n,
        count(*) filter (where observed) as n_observed
    from headers
    group by fixture, {{ stratifying_fields() | join(', ') }}

),

{% set fields = stratifying_fields() -%}
-- Every pair of fields, in strata of episodes that agree in all the others.
paired as (

    {% for first in fields -%}
    {%- for second in fields[loop.index:] -%}
    {%- set others = fields | reject('in', [first, second]) | list -%}
    select
        fixture,
        '{{ first }}' as field,
        '{{ second }}' as other_field,
        {{ first }} as value,  -- noqa: RF04
        {{ second }} as other_value,
        concat_ws(' ', {{ others | join(', ') }}) as stratum,
        n,
        n_observed
    from full_cells
    {{ 'union all' if not (loop.last and first == fields[-2]) }}
    {% endfor -%}
    {%- endfor %}
),

sized as (

    select
        fixture,
        field,
        other_field,
        count(distinct value) as n_values,
        count(distinct other_value) as n_other_values
    from paired
    group by fixture, field, other_field

),

complete as (

    select
        paired.*,
        sized.n_values,
        sized.n_other_values,
        sum(paired.n) over (
            partition by paired.fixture, paired.field, paired.other_field, paired.stratum
        ) as n_stratum
    from paired
    inner join sized
        on
            paired.fixture = sized.fixture
            and paired.field = sized.field
            and paired.other_field = sized.other_field
    qualify
        count(*) over (partition by paired.fixture, paired.field, paired.other_field, paired.stratum)
        = sized.n_values * sized.n_other_values

),

-- Directly standardised, as in `header_effects`; a cell of zeros alone still has a variance.
estimated as (

    select
        fixture,
        field,
        other_field,
        value,
        other_value,
        n_values,
        n_other_values,
        sum(n) as n,
        fsum(n_stratum * (n_observed / n) order by stratum) / sum(n_stratum) as p_observed,
        fsum(
            pow(n_stratum, 2) * ((n_observed + 0.5) / (n + 1)) * (1 - (n_observed + 0.5) / (n + 1)) / n
            order by stratum
        ) / pow(sum(n_stratum), 2) as variance
    from complete
    group by fixture, field, other_field, value, other_value, n_values, n_other_values

),

-- What the two fields together do beyond the sum of what each does, values weighted equally.
residuals as (

    select
        *,
        p_observed - avg(p_observed) over by_value - avg(p_observed) over by_other_value
        + avg(p_observed) over pair as beyond_the_sum,
        sum(variance) over by_value as variance_of_value,
        sum(variance) over by_other_value as variance_of_other_value,
        sum(variance) over pair as variance_of_pair
    from estimated
    window
        pair as (partition by fixture, field, other_field),
        by_value as (partition by fixture, field, other_field, value),
        by_other_value as (partition by fixture, field, other_field, other_value)

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
        order by round(abs(beyond_the_sum), 9) desc, value asc, other_value asc
    ) = 1

),

header_interactions as (

    select
        fixture,
        field,
        other_field,
        value,
        other_value,
        cast(n as bigint) as n,
        round(p_observed, 9) as p_observed,
        round(beyond_the_sum, 9) as beyond_the_sum,
        round(beyond_the_sum / standard_error, 6) as z,
        abs(beyond_the_sum) >= {{ var('marker_effect') }}
        and abs(beyond_the_sum / standard_error) >= {{ var('marker_z') }} as is_interaction
    from largest

)

select * from header_interactions
order by fixture asc, abs(beyond_the_sum) desc, field asc, other_field asc
