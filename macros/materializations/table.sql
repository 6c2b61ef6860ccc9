{#
    A table in the place of the one that is there, in one transaction: DuckDB's DDL rolls back, so that a model that fails
    leaves the old table without its having been built under another name and renamed, which costs a small model as much
    as its rows.

    A Python model writes by a connection of its own, which does not see this transaction: it writes under another name.
#}
{% materialization table, adapter='duckdb', supported_languages=['sql', 'python'] %}

    {%- set language = model['language'] -%}
    {%- set existing = load_cached_relation(this) -%}
    {%- set target = this.incorporate(type='table') -%}
    {%- set written = make_intermediate_relation(target) -%}
    {%- set backup = make_backup_relation(target, existing.type if existing else 'table') -%}

    {{ run_hooks(pre_hooks, inside_transaction=false) }}
    {{ run_hooks(pre_hooks, inside_transaction=true) }}
    {% if language == 'sql' %}
        {% call statement('main') -%}
            {{ dropped(existing) }}
            {{ create_table_as(false, target, compiled_code, language) }}
        {%- endcall %}
    {% else %}
        {% do drop_relation_if_exists(load_cached_relation(written)) %}
        {% do drop_relation_if_exists(load_cached_relation(backup)) %}
        {% call statement('main', language=language) -%}
            {{ create_table_as(false, written, compiled_code, language) }}
        {%- endcall %}
        {% if existing %}
            {% do adapter.rename_relation(existing, backup) %}
        {% endif %}
        {% do adapter.rename_relation(written, target) %}
    {% endif %}
    {{ run_hooks(post_hooks, inside_transaction=true) }}
    {% do persist_docs(target, model) %}
    {{ adapter.commit() }}
    {% if language == 'python' and existing %}
        {% do drop_relation_if_exists(backup) %}
    {% endif %}
    {{ run_hooks(post_hooks, inside_transaction=false) }}

    {{ return({'relations': [target]}) }}

{% endmaterialization %}
