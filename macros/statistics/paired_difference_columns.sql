{#
    The difference of two rates of the same trials, `up` trials that only the first has and `down` that only the second
    has, out of `trials`: three columns, `name` and its 95 % interval. The interval is Wald's after a pseudo-count of one
    half to every cell of the 2 × 2 table (Agresti and Min 2005), so that it has a width where no pair differs.

    Usage: {{ paired_difference_columns('n_lost', 'n_gained', 'n_pairs', 'compliance_drop') }}
#}
{% macro paired_difference_columns(up, down, trials, name) -%}
    {%- set half_width -%}
        {{ normal_quantile_975() }} * sqrt(
            ({{ up }} + {{ down }} + 1) - pow({{ up }} - {{ down }}, 2) / ({{ trials }} + 2.0)
        ) / ({{ trials }} + 2.0)
    {%- endset -%}
    {{ safe_div(up ~ ' - ' ~ down, trials) }} as {{ name }},
        greatest(-1.0, ({{ up }} - {{ down }}) / ({{ trials }} + 2.0) - {{ half_width }}) as {{ name }}_low,
        least(1.0, ({{ up }} - {{ down }}) / ({{ trials }} + 2.0) + {{ half_width }}) as {{ name }}_high
{%- endmacro %}
