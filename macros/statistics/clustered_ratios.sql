{#
    Ratios of sums over clusters (a rate, or a mean a row) with errors that count a cluster as one: the CTEs `totals`,
    `squares`, `errors` and `measured` over a CTE `by_sample` of one row a group and sample. `measured` has the keys,
    n_samples, every count (bigint) and sum (double) of the clusters, and of every ratio its value, `_se` (see
    `clustered_standard_error`), and its 95 % interval `_low` and `_high`: Wilson's at the effective number of trials
    (`_n`) for a rate, that of the normal distribution for a mean. A sample counts for a ratio where it has a trial.

    A ratio is {name, of, over, rate}: the count or sum `of` divided by the count `over`. `rate` says that it lies in
    [0, 1]. `unbounded` says that squares may leave the range of `exact_sum`: they are summed in order of the samples.

    Usage: with by_sample as (...),
           {{ clustered_ratios(['tag'], ['n_judged', 'n_yes'], [], [
               {'name': 'yes_rate', 'of': 'n_yes', 'over': 'n_judged', 'rate': true}
           ]) }}
#}
{% macro clustered_ratios(keys, counts, sums, ratios) -%}
    {%- set same = [] -%}
    {%- for key in keys %}{% do same.append('by_sample.' ~ key ~ ' = totals.' ~ key) %}{% endfor -%}
totals as (

    select
        {{ keys | join(', ') }},
        count(*) as n_samples,
        {%- for name in counts %}
        coalesce(cast(sum({{ name }}) as bigint), 0) as {{ name }},
        {%- endfor %}
        {%- for name in sums %}
        {{ exact_sum(name) }} as {{ name }},
        {%- endfor %}
        {%- for ratio in ratios %}
        count(*) filter (where {{ ratio.over }} > 0) as {{ ratio.name }}_samples,
        {{ safe_div(exact_sum(ratio.of), 'sum(' ~ ratio.over ~ ')') }} as {{ ratio.name }}{{ ',' if not loop.last }}
        {%- endfor %}
    from by_sample
    group by {{ keys | join(', ') }}

),

squares as (

    select
        {{ 'totals.' ~ keys | join(', totals.') }},
        {%- for ratio in ratios %}
        {%- set square %}power(by_sample.{{ ratio.of }} - totals.{{ ratio.name }} * by_sample.{{ ratio.over }}, 2){% endset %}
        {% if ratio.unbounded %}fsum({{ square }} order by by_sample.sample_id){% else %}{{ exact_sum(square) }}{% endif %}
            as {{ ratio.name }}{{ ',' if not loop.last }}
        {%- endfor %}
    from by_sample
    inner join totals on {{ same | join(' and ') }}
    group by {{ 'totals.' ~ keys | join(', totals.') }}

),

errors as (

    select
        totals.*,
        {%- for ratio in ratios %}
        {{ clustered_standard_error(
            'squares.' ~ ratio.name, 'totals.' ~ ratio.name ~ '_samples', 'totals.' ~ ratio.over
        ) }} as {{ ratio.name }}_se{{ ',' if not loop.last }}
        {%- endfor %}
    from totals
    inner join squares on {{ same | join(' and ') | replace('by_sample.', 'squares.') }}

),

effective as (

    select
        *
        {%- for ratio in ratios if ratio.rate %},
        {{ effective_trials(ratio.name, ratio.name ~ '_se', ratio.over, ratio.name ~ '_samples') }} as {{ ratio.name }}_n
        {%- endfor %}
    from errors

),

measured as (

    select
        *,
        {%- for ratio in ratios %}
        {%- if ratio.rate %}
        {{ wilson_low(ratio.name ~ ' * ' ~ ratio.name ~ '_n', ratio.name ~ '_n') }} as {{ ratio.name }}_low,
        {{ wilson_high(ratio.name ~ ' * ' ~ ratio.name ~ '_n', ratio.name ~ '_n') }} as {{ ratio.name }}_high
        {%- else %}
        {{ ratio.name }} - {{ normal_quantile_975() }} * {{ ratio.name }}_se as {{ ratio.name }}_low,
        {{ ratio.name }} + {{ normal_quantile_975() }} * {{ ratio.name }}_se as {{ ratio.name }}_high
        {%- endif %}{{ ',' if not loop.last }}
        {%- endfor %}
    from effective

)
{%- endmacro %}
