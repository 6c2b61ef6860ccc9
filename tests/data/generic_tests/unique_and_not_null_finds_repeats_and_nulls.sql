-- The pair that stands there twice is one repeat, nulls being equal; a null in either column is one row each.
{% set values = "(values ('a', 1), ('a', 2), ('b', null), ('b', null), (null, 3)) as t (artifact_id, line)" %}
with faults as (
    {{ test_unique_and_not_null(values, unique=['artifact_id', 'line'], not_null=['artifact_id', 'line']) }}
),

repeats as (
    {{ test_unique_and_not_null(values, unique=['artifact_id', 'line']) }}
),

nulls as (
    {{ test_unique_and_not_null(values, not_null=['artifact_id']) }}
),

counted as (

    select
        (select string_agg(fault, ',' order by fault) from faults) as in_faults,
        (select string_agg(fault || ' ' || artifact_id, ',' order by fault) from repeats) as in_repeats,
        (select count(*) from nulls) as n_nulls

)

select * from counted
where
    in_faults is distinct from 'null,null,null,repeated'
    or in_repeats is distinct from 'repeated b'
    or n_nulls <> 1
