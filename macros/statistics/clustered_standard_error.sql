{#
    Standard error of a mean over rows that are independent between clusters only: the square root of the summed squares
    of each cluster's deviation, `sum(x - mean)` over its rows, corrected for few clusters, over the number of rows.
    Null with fewer than two clusters, where nothing is known of how clusters differ. Source: Miller (2024).

    Usage: {{ clustered_standard_error('sum_squares', 'n_samples', 'n_turns') }} as mean_credit_se
#}
{% macro clustered_standard_error(sum_squares, clusters, rows) -%}
    case
        when {{ clusters }} >= 2
            then sqrt({{ sum_squares }} * {{ clusters }} / ({{ clusters }} - 1.0)) / {{ rows }}
    end
{%- endmacro %}
