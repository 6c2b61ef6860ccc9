-- Ends of the interval from an independent computation (Brown, Cai and DasGupta 2001, formula 4), and its limits.
with cases (successes, trials, low, high) as (

    values
    (0, 10, 0.0, 0.2775327998628892),
    (10, 10, 0.7224672001371106, 1.0),
    (5, 10, 0.236593090512564, 0.763406909487436),
    (334, 4566, 0.06595034053213372, 0.08106601985470373),
    (0, 0, null, null),
    (null, 5, null, null)

),

computed as (

    select
        *,
        {{ wilson_low('successes', 'trials') }} as computed_low,
        {{ wilson_high('successes', 'trials') }} as computed_high,
        {{ safe_div('successes', 'trials') }} as rate
    from cases

)

select *
from computed
where
    (computed_low is null) <> (low is null)
    or (computed_high is null) <> (high is null)
    or abs(computed_low - low) > 1e-9
    or abs(computed_high - high) > 1e-9
    or (rate is null) <> (low is null)
    or not (rate between computed_low and computed_high)
