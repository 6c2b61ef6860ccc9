{#
    The parts of a duel's sample id, six columns: base_sample_id, rollout_suffix, dataset_source, shard, dataset_row,
    dataset_turn. Contract: sn97, a.8.

    The id is `<shard>:<row>:<turn>`, and graded runs append `#r<rollout>`; it is cut at the first `#r` before it is
    parsed. `shard` keeps its dataset's folder, as the validator's own parser does. A part is null where the id does not
    have the form; the id itself is always kept.

    Usage: {{ sample_id_columns('sample_id') }},
#}
{% macro sample_id_columns(sample_id) -%}
    {%- set base = "split_part(" ~ sample_id ~ ", '#r', 1)" -%}
    {%- set suffix = "substr(" ~ sample_id ~ ", length(" ~ base ~ ") + 3)" -%}
    {%- set form = '^(([A-Za-z0-9_][A-Za-z0-9_.-]*/)?data/train-[A-Za-z0-9_.-]*[.]parquet):([0-9]+):([0-9]+)$' -%}
    {{ base }} as base_sample_id,
        try_cast({{ regex_group(suffix, '^([0-9]+)$', 1) }} as bigint) as rollout_suffix,
        {{ regex_group(regex_group(base, form, 1), '^([^/]+)/data/', 1) }} as dataset_source,
        {{ regex_group(base, form, 1) }} as shard,
        try_cast({{ regex_group(base, form, 3) }} as bigint) as dataset_row,
        try_cast({{ regex_group(base, form, 4) }} as bigint) as dataset_turn
{%- endmacro %}
