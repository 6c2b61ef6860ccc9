{#
    Run and step of a checkpoint's path `runs/<run>/ckpt/step<step>.safetensors`, two columns: run, step.
    Contract: gateway, 3. Both are null for the base policy, which belongs to no run.

    Usage: {{ checkpoint_columns('checkpoint') }},
#}
{% macro checkpoint_columns(checkpoint) -%}
    {%- set form = '^runs/([^/]+)/ckpt/step([0-9]+)[.]safetensors$' -%}
    {{ regex_group(checkpoint, form, 1) }} as run,
        try_cast({{ regex_group(checkpoint, form, 2) }} as bigint) as step
{%- endmacro %}
