{%- set forced = var('ruleset') | replace("'", "''") -%}
-- A name that no row of the seed has would leave every side without loop limits and every gate of them unknown.
with forced as (

    select '{{ forced }}' as ruleset_id

)

select forced.ruleset_id
from forced
left join {{ ref('rulesets') }} as rulesets on forced.ruleset_id = rulesets.ruleset_id
where forced.ruleset_id <> '' and rulesets.ruleset_id is null
