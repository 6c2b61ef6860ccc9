-- A name that no row of the seed has would leave every side without loop limits and every gate of them unknown.
select '{{ var('ruleset') | replace("'", "''") }}' as ruleset_id
where
    '{{ var('ruleset') | replace("'", "''") }}' <> ''
    and '{{ var('ruleset') | replace("'", "''") }}' not in (select rulesets.ruleset_id from {{ ref('rulesets') }} as rulesets)
