{#
    Fails for every row that breaks one of the rules of its table, and names the rules; all rules in one test, since a
    test costs a build far more than a rule in it does.

    - unique: no two rows have the same values in these columns together; null counts as a value
    - not_null: none of these columns is null
    - finite: none of these columns is nan or an infinity
    - ranges: a list of {columns, min_value, max_value}, limits included; either limit may be left out. Null passes; nan
      fails where there is a max_value, since DuckDB orders it after every number
    - values: by column, the values it may have. Null passes

    Usage (on a model): rows_are_valid: {arguments: {unique: [turn_id], ranges: [{columns: [share], max_value: 1}]}}
#}
{% test rows_are_valid(model, unique=[], not_null=[], finite=[], ranges=[], values={}) %}

    {%- set broken = [] %}
    {%- for column in not_null %}
        {%- do broken.append((column ~ " is null", column ~ " is null")) %}
    {%- endfor %}
    {%- for column in finite %}
        {%- do broken.append(("not isfinite(" ~ column ~ ")", column ~ " is not finite")) %}
    {%- endfor %}
    {%- for range in ranges %}
        {%- if range.min_value is not defined and range.max_value is not defined %}
            {{- exceptions.raise_compiler_error("a range of " ~ model ~ " needs min_value, max_value or both") }}
        {%- endif %}
        {%- for column in range.columns %}
            {%- if range.min_value is defined %}
                {%- do broken.append((column ~ " < " ~ range.min_value, column ~ " is below " ~ range.min_value)) %}
            {%- endif %}
            {%- if range.max_value is defined %}
                {%- do broken.append((column ~ " > " ~ range.max_value, column ~ " is above " ~ range.max_value)) %}
            {%- endif %}
        {%- endfor %}
    {%- endfor %}
    {%- for column, accepted in values.items() %}
        {%- do broken.append((column ~ " not in ('" ~ accepted | join("', '") ~ "')", column ~ " has another value")) %}
    {%- endfor %}
    {%- if not unique and not broken %}
        {{- exceptions.raise_compiler_error("rows_are_valid of " ~ model ~ " is given no rule") }}
    {%- endif %}
    {%- set shown = (unique or not_null or finite) | join(', ') %}
    {%- if broken %}

    select
        {%- if shown %}
        {{ shown }},
        {%- endif %}
        concat_ws(
            ', '
            {%- for condition, words in broken %},
            case when {{ condition }} then '{{ words }}' end
            {%- endfor %}
        ) as broken_rules
    from {{ model }}
    where
        {%- for condition, _ in broken %}
        {{ 'or ' if not loop.first }}{{ condition }}
        {%- endfor %}
    {%- endif %}
    {%- if unique and broken %}
    union all
    {%- endif %}
    {%- if unique %}
    select
        {{ shown }},
        'repeated' as broken_rules
    from {{ model }}
    group by {{ shown }}
    having count(*) > 1
    {%- endif %}

{% endtest %}
