-- Ties of the decimal text are none in binary: 0.0125 lies above its tie, 0.0625 on it and goes to the even digit.
with cases (value, rounded) as (

    values
    (cast(0.0125 as double), cast(0.013 as double)),
    (0.0625, 0.062),
    (0.3255, 0.326),
    (0.2675, 0.268),
    (1.0, 1.0),
    (0.0, 0.0)

)

select *
from cases
where {{ round_like_python('value', 3) }} <> rounded
