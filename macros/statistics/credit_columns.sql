{#
    What every table of mean credit says of a group of turns, as `credit_by_group` has it: one list for all of them.

    Usage: {{ credit_columns() }} or, of a joined table, {{ credit_columns('groups.') }}
#}
{% macro credit_columns(of='') -%}
    {%- for column in (
        'n_samples', 'n_turns', 'share_of_turns', 'credit', 'share_of_credit', 'mean_credit', 'mean_credit_se',
        'mean_credit_low', 'mean_credit_high', 'mean_credit_full', 'mean_credit_extended', 'n_earning', 'earn_rate',
        'earn_rate_se', 'earn_rate_low', 'earn_rate_high',
    ) %}
    {{- '' if loop.first else '        ' }}{{ of }}{{ column }}{{ '' if loop.last else ',\n' }}
    {%- endfor %}
{%- endmacro %}
