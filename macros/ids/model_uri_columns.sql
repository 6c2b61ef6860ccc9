{#
    The parts of a model URI `<scheme>://<repository>@<revision>`, two columns: repository, revision.
    Contract: sn97, a.3 (`model_uri`).

    The scheme may be missing; without `@` the revision is null. The cut is at the last `@`.

    Usage: {{ model_uri_columns('king_model_uri', 'king_') }},
#}
{% macro model_uri_columns(model_uri, prefix='') -%}
    {%- set form = '^([A-Za-z][A-Za-z0-9+.-]*://)?([^@]*(@[^@]*)*?)(@([^@]*))?$' -%}
    {{ regex_group(model_uri, form, 2) }} as {{ prefix }}repository,
        nullif({{ regex_group(model_uri, form, 5) }}, '') as {{ prefix }}revision
{%- endmacro %}
