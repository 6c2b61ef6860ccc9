-- Limits and null pass; below, above and nan do not. With one limit only that side is tested. Every column counts.
{% set rows = "(0.0::double, 0), (1.0, 1), (null, 0), (-0.1, 0), (1.1, 0), ('nan', 0), (0.5, 2)" %}
{% set values = "(values " ~ rows ~ ") as t (share, other)" %}
with both_limits as (
    {{ test_accepted_range(values, ['share'], min_value=0, max_value=1) }}
),

lower_limit as (
    {{ test_accepted_range(values, ['share'], min_value=0) }}
),

upper_limit as (
    {{ test_accepted_range(values, ['share'], max_value=1) }}
),

two_columns as (
    {{ test_accepted_range(values, ['share', 'other'], max_value=1) }}
),

counted as (

    select
        (select count(*) from both_limits) as n_both,
        (select count(*) from lower_limit) as n_lower,
        (select count(*) from upper_limit) as n_upper,
        (select count(*) from two_columns) as n_two_columns

)

select * from counted
where n_both <> 3 or n_lower <> 1 or n_upper <> 2 or n_two_columns <> 3
