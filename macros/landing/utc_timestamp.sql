{#
    An ISO 8601 text as a timestamp in UTC; null where the text is not one, so keep the text beside it.

    An offset is honoured; a text without one is read as UTC, which the profile sets as the session's time zone. The
    first test keeps out words that DuckDB also reads as times (`epoch`, `infinity`).

    Usage: updated_at as updated_at_text, {{ utc_timestamp('updated_at') }} as updated_at
#}
{% macro utc_timestamp(text) -%}
    case when regexp_matches({{ text }}, '^[0-9]{4}-[0-9]{2}-[0-9]{2}') then try_cast({{ text }} as timestamptz) end
{%- endmacro %}
