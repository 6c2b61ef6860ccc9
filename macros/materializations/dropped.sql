{#
    The statement that drops a relation, for the transaction that creates another in its place; nothing without one.
    (`drop_relation_if_exists` would commit at once.)

    Usage: {{ dropped(load_cached_relation(this)) }} create table …
#}
{% macro dropped(relation) -%}
    {%- if relation -%}
        {%- do adapter.cache_dropped(relation) -%}
        drop {{ relation.type }} if exists {{ relation }};
    {%- endif -%}
{%- endmacro %}
