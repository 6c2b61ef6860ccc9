{#
    A table of schema `landing`, and the fact that it stands only after the model that makes it: `artifacts` for what the
    raw tree holds, else a model whose step makes more than the rows it returns.

    Usage: from {{ landed('sn97', 'messages') }}
           from {{ landed('steps', 'teacher_prompts', made_by='int_turn_prompts') }}
#}
{% macro landed(source_name, table_name, made_by='artifacts') -%}
    {%- do ref(made_by) -%}
    {{ source(source_name, table_name) }}
{%- endmacro %}
