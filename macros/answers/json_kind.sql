{#
    What a JSON text is, by the standard's own names: `object`, `array`, `string`, `number`, `boolean` or `null`.
    SQL null stays null.

    Usage: where {{ json_kind('answer') }} = 'string'
#}
{% macro json_kind(text) -%}
    case json_type(cast({{ text }} as json))
        when 'VARCHAR' then 'string'
        when 'BOOLEAN' then 'boolean'
        when 'NULL' then 'null'
        when 'OBJECT' then 'object'
        when 'ARRAY' then 'array'
        when 'UBIGINT' then 'number'
        when 'BIGINT' then 'number'
        when 'DOUBLE' then 'number'
        when 'HUGEINT' then 'number'
        when 'UHUGEINT' then 'number'
    end
{%- endmacro %}
