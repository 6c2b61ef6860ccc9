{#
    Does thinking count as amputated: more than `amputated_block_share` of the judged blocks start with a closing think tag. Null without
    a block.

    Usage: {{ amputated_thinking('n_blocks_starting_with_close', 'n_judged_blocks') }} as amputated_thinking
#}
{% macro amputated_thinking(n_blocks_starting_with_close, n_judged_blocks) -%}
    case when {{ n_judged_blocks }} > 0 then {{ n_blocks_starting_with_close }} / {{ n_judged_blocks }} > {{ var('amputated_block_share') }} end
{%- endmacro %}
