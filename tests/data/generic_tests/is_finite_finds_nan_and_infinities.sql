-- Three of five rows are not finite, in either column; null is.
with found as (
    {{ test_is_finite(
        "(values (0.5::double, 1.0::double), ('nan', 1.0), (1.0, 'infinity'), ('-infinity', null), (null, null))"
        ~ " as t (score, weight)",
        ['score', 'weight']
    ) }}
)

select count(*) as n_found
from found
having count(*) <> 3
