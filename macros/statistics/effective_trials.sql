{#
    How many independent trials tell as much of a rate as these `trials` in clusters do: rate * (1 - rate) / error ^ 2
    with a clustered standard error, at most the trials themselves. Where the error says nothing (a rate of 0 or 1, one
    cluster) the number of clusters. Feed it to `wilson_low` and `wilson_high`, so that no interval counts the questions
    or turns of one sample as independent.

    Usage: {{ effective_trials('earn_rate', 'earn_rate_se', 'n_turns', 'n_samples') }} as n_effective
#}
{% macro effective_trials(rate, standard_error, trials, clusters) -%}
    case
        when {{ rate }} > 0 and {{ rate }} < 1 and {{ standard_error }} > 0
            then least(
                cast({{ trials }} as double), {{ rate }} * (1 - {{ rate }}) / ({{ standard_error }} * {{ standard_error }})
            )
        else cast({{ clusters }} as double)
    end
{%- endmacro %}
