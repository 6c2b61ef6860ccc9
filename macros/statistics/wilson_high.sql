{#
    Upper end of the Wilson score interval of a rate; see `wilson_low`. Exactly 1 where every trial is a success.

    Usage: {{ wilson_high('n_earning', 'n_turns') }} as earn_rate_high
#}
{% macro wilson_high(successes, trials, z=normal_quantile_975()) -%}
    {{ wilson_end(successes, trials, z, '+') }}
{%- endmacro %}
