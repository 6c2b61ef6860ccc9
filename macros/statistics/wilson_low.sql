{#
    Lower end of the Wilson score interval of a rate, `successes` out of `trials`; 95 % unless another `z` is given.
    Null where there are no trials; exactly 0 where there is no success. Source: Brown, Cai and DasGupta (2001).

    Both arguments are expressions without side effects, since they stand here more than once.

    Usage: {{ wilson_low('n_earning', 'n_turns') }} as earn_rate_low
#}
{% macro wilson_low(successes, trials, z=normal_quantile_975()) -%}
    {{ wilson_end(successes, trials, z, '-') }}
{%- endmacro %}
