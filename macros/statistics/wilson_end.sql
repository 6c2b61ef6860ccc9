{#
    One end of the Wilson score interval: `sign` is `-` for the lower and `+` for the upper. Written so that a rate of 0
    has the lower end 0 and a rate of 1 the upper end 1, without a rounding error that would leave [0, 1].

    Usage: through `wilson_low` and `wilson_high` alone
#}
{% macro wilson_end(successes, trials, z, sign) -%}
    {%- set k = 'cast(' ~ successes ~ ' as double)' -%}
    {%- set n = 'nullif(cast(' ~ trials ~ ' as double), 0)' -%}
    case
        when {{ n }} is null or {{ k }} is null then null
        {%- if sign == '-' %}
        when {{ k }} = 0 then 0.0
        {%- else %}
        when {{ k }} = {{ n }} then 1.0
        {%- endif %}
        else
            ({{ k }} + {{ z * z / 2 }} {{ sign }} {{ z }} * sqrt({{ k }} * ({{ n }} - {{ k }}) / {{ n }} + {{ z * z / 4 }}))
            / ({{ n }} + {{ z * z }})
    end
{%- endmacro %}
