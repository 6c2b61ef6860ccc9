{# A view in the place of the one that is there, in one transaction; see `table`. #}
{% materialization view, adapter='duckdb' %}

    {%- set target = this.incorporate(type='view') -%}

    {{ run_hooks(pre_hooks, inside_transaction=false) }}
    {{ run_hooks(pre_hooks, inside_transaction=true) }}
    {% call statement('main') -%}
        {{ dropped(load_cached_relation(this)) }}
        {{ create_view_as(target, compiled_code) }}
    {%- endcall %}
    {{ run_hooks(post_hooks, inside_transaction=true) }}
    {% do persist_docs(target, model) %}
    {{ adapter.commit() }}
    {{ run_hooks(post_hooks, inside_transaction=false) }}

    {{ return({'relations': [target]}) }}

{% endmaterialization %}
