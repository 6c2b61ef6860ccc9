-- Every rule alone and all together: limits and null pass, nan is above every upper limit, nulls of a key are equal.
{% set rows = [
    "('a', 1, 0.0::double, 'pass')",
    "('a', 2, 1.0, 'fail')",
    "('b', null, null, null)",
    "('b', null, -0.1, 'pass')",
    "('c', 4, 1.1, 'pass')",
    "('d', 5, 'nan', 'pass')",
    "('e', 6, '-infinity', 'other')",
    "(null, 7, 0.5, 'unknown')",
] %}
{% set cases = "(values " ~ rows | join(', ') ~ ") as t (file, line, share, verdict)" %}
{% set verdicts = {'verdict': ['pass', 'fail', 'unknown']} %}
with unique_alone as (
    {{ test_rows_are_valid(cases, unique=['file', 'line']) }}
),

not_null_alone as (
    {{ test_rows_are_valid(cases, not_null=['file', 'line']) }}
),

finite_alone as (
    {{ test_rows_are_valid(cases, finite=['share']) }}
),

lower_alone as (
    {{ test_rows_are_valid(cases, ranges=[{'columns': ['share'], 'min_value': 0}]) }}
),

upper_alone as (
    {{ test_rows_are_valid(cases, ranges=[{'columns': ['share', 'line'], 'max_value': 1}]) }}
),

values_alone as (
    {{ test_rows_are_valid(cases, values=verdicts) }}
),

every_rule as (
    {{ test_rows_are_valid(
        cases,
        unique=['file', 'line'],
        not_null=['file'],
        finite=['share'],
        ranges=[{'columns': ['share'], 'min_value': 0, 'max_value': 1}],
        values=verdicts,
    ) }}
),

found as (

    select
        'unique' as rules,
        string_agg(concat(file, ' ', broken_rules), '; ' order by broken_rules) as faults
    from unique_alone
    union all
    {% for rules in ['not_null', 'finite', 'lower', 'upper', 'values'] %}
    select
        '{{ rules }}' as rules,
        string_agg(broken_rules, '; ' order by broken_rules) as faults
    from {{ rules }}_alone
    union all
    {% endfor %}
    select
        'every' as rules,
        string_agg(concat(file, ' ', line, ': ', broken_rules), '; ' order by file nulls last, broken_rules) as faults
    from every_rule

),

expected (rules, faults) as (

    values
    ('unique', 'b repeated'),
    ('not_null', 'file is null; line is null; line is null'),
    ('finite', 'share is not finite; share is not finite'),
    ('lower', 'share is below 0; share is below 0'),
    (
        'upper',
        'line is above 1; line is above 1; line is above 1; share is above 1, line is above 1; '
        || 'share is above 1, line is above 1'
    ),
    ('values', 'verdict has another value'),
    (
        'every',
        'b : repeated; b : share is below 0; c 4: share is above 1; d 5: share is not finite, share is above 1; '
        || 'e 6: share is not finite, share is below 0, verdict has another value;  7: file is null'
    )

)

select
    expected.rules,
    expected.faults as faults_expected,
    found.faults as faults_found
from expected
left join found on expected.rules = found.rules
where found.faults is distinct from expected.faults
