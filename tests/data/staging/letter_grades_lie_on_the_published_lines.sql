-- Twenty letters A to T; A 0, E .15, J .35, O .70, T 1 and straight lines between (contract: sn97, b.5).
-- The points are written here a second time on purpose: a slip in the seed would change every graded score.
with points as (

    select
        given.first_place,
        given.first_value,
        given.last_place,
        given.last_value
    from
        (
            values
            (1, 0.0, 5, 0.15),
            (5, 0.15, 10, 0.35),
            (10, 0.35, 15, 0.70),
            (15, 0.70, 20, 1.0)
        ) as given (first_place, first_value, last_place, last_value)

),

places as (

    select place
    from generate_series(1, 20) as series (place)

),

expected as (

    select distinct
        chr(cast(64 + places.place as integer)) as letter,
        cast(
            points.first_value
            + (points.last_value - points.first_value)
            * (places.place - points.first_place)
            / (points.last_place - points.first_place)
            as double
        ) as expected_value
    from points
    inner join places on places.place between points.first_place and points.last_place

)

select
    expected.letter,
    expected.expected_value,
    grades.value
from expected
full outer join {{ ref('letter_grades') }} as grades on expected.letter = grades.letter
where
    expected.letter is null
    or grades.letter is null
    or abs(expected.expected_value - grades.value) > 1e-12
