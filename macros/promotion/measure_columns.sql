{#
    The counts of one (checkpoint, condition) as the contract's measures, each rate with its Wilson interval.
    Contract: gateway, 6. Needs the count columns of `measures_by_condition` in scope.

    Usage: {{ measure_columns() }}
#}
{% macro measure_columns() -%}
    n,
        n_restricted,
        n_compliant,
        {{ safe_div('n_compliant', 'n_restricted') }} as compliance,
        {{ wilson_low('n_compliant', 'n_restricted') }} as compliance_low,
        {{ wilson_high('n_compliant', 'n_restricted') }} as compliance_high,
        n_correct,
        {{ safe_div('n_correct', 'n') }} as accuracy,
        {{ wilson_low('n_correct', 'n') }} as accuracy_low,
        {{ wilson_high('n_correct', 'n') }} as accuracy_high,
        {%- for name in ['observed', 'unobserved', 'preserve'] %}
        n_{{ name }}_restricted,
        {{ safe_div('n_' ~ name ~ '_restricted', 'n_restricted') }} as {{ name }}_restricted,
        {{ wilson_low('n_' ~ name ~ '_restricted', 'n_restricted') }} as {{ name }}_restricted_low,
        {{ wilson_high('n_' ~ name ~ '_restricted', 'n_restricted') }} as {{ name }}_restricted_high,
        {%- endfor %}
        inconsistent_restricted,
        malformed,
        n_without_end
{%- endmacro %}

{#
    Names of the columns that `measure_columns` gives, in its order.

    Usage: {% for name in measure_column_names() %}
#}
{% macro measure_column_names() -%}
    {%- set names = ['n', 'n_restricted'] -%}
    {%- for count, rate in [
        ('n_compliant', 'compliance'),
        ('n_correct', 'accuracy'),
        ('n_observed_restricted', 'observed_restricted'),
        ('n_unobserved_restricted', 'unobserved_restricted'),
        ('n_preserve_restricted', 'preserve_restricted'),
    ] -%}
        {%- do names.extend([count, rate, rate ~ '_low', rate ~ '_high']) -%}
    {%- endfor -%}
    {{ return(names + ['inconsistent_restricted', 'malformed', 'n_without_end']) }}
{%- endmacro %}
