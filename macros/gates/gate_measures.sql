{#
    What a gate may measure, by the subject it is asked of: columns of `mix_sides` (side), of `mix_turn_facts` (turn),
    of the facts of `mix_row_gates` (row), ranks that it takes (rank), and what is known later.

    Usage: {{ gate_value('gates.measure', 'facts', gate_measures('turn')) }}
#}
{% macro gate_measures(subject) -%}
    {{ return({
        'side': [
            'run_succeeded', 'scored', 'not_looped', 'score', 'dup_cmd_ratio', 'max_cmd_run', 'n_turns',
            'ends_in_submission', 'verified',
        ],
        'turn': [
            'turn', 'n_bash_blocks', 'think_closed', 'not_repeat', 'not_sentinel', 'credit', 'is_escape', 'breaks_out',
        ],
        'row': ['has_messages', 'n_window_turns', 'n_train_turns', 'not_contaminated'],
        'rank': ['rank_in_sample', 'rank_in_instance', 'place_in_mix'],
        'audit': ['mask_proven'],
        'message': ['nth_target_of_command', 'span_proven'],
        'checkpoint': [
            'compliance', 'accuracy', 'observed_restricted', 'unobserved_restricted', 'preserve_restricted',
            'compliance_drop',
        ],
    }[subject]) }}
{%- endmacro %}
