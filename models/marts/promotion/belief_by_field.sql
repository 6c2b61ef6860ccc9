{% for field in ['ctx', 'src', 'ver', 'lang', 'shard_half', 'shard', 'tens', 'units', 'category'] -%}
select
    fixture,
    '{{ field }}' as field,
    {{ field }} as value,  -- noqa: RF04
    n,
    n_observed,
    p_observed,
    p_observed_low,
    p_observed_high
from (

    {{ belief_by([field]) | indent(4) }}

)
{{ 'union all' if not loop.last }}
{% endfor -%}
order by fixture, field, value
