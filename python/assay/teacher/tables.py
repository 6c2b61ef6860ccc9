"""The tables of the teacher steps."""

import pyarrow as pa

from assay.steps.tables import Output

REFERENCE_FACTS = pa.schema(
    [
        ("artifact_id", pa.string()),
        ("line", pa.int64()),
        ("turn_id", pa.string()),
        ("reference_index", pa.int64()),
        ("dialect", pa.string()),
        ("first_token", pa.string()),
        ("action_key", pa.string()),
        ("norm_key", pa.string()),
        ("content_key", pa.string()),
    ]
)
DUEL_MARGINS = pa.schema(
    [
        ("artifact_id", pa.string()),
        ("line", pa.int64()),
        ("tau", pa.float64()),
        ("n_paired_turns", pa.int64()),
        ("margin", pa.float64()),
        ("se", pa.float64()),
        ("z", pa.float64()),
    ]
)
DUEL_GATES = pa.schema(
    [
        ("artifact_id", pa.string()),
        ("line", pa.int64()),
        ("unknown_reason", pa.string()),
        ("median_thought_chars", pa.float64()),
        ("causality_pass_rate", pa.float64()),
        ("n_king_thoughts", pa.int64()),
        ("king_common_ending", pa.string()),
        ("king_common_ending_share", pa.float64()),
        ("n_challenger_thoughts", pa.int64()),
        ("challenger_common_ending", pa.string()),
        ("challenger_common_ending_share", pa.float64()),
    ]
)
REPAIRED = pa.schema(
    [
        ("corpus_epoch", pa.int64()),
        ("turn_id", pa.string()),
        ("thought", pa.string()),
        ("action", pa.string()),
        ("completion", pa.string()),
        ("clean_flags", pa.list_(pa.string())),
        ("n_thought_chars", pa.int64()),
        ("is_blank", pa.bool_()),
        ("has_environment_turn", pa.bool_()),
        ("shell_valid", pa.bool_()),
        ("shell_checked_by", pa.string()),
        ("shell_fault", pa.string()),
        ("round_trips", pa.bool_()),
        ("completion_key", pa.string()),
    ]
)
PROMPTS = pa.schema(
    [
        ("corpus_epoch", pa.int64()),
        ("turn_id", pa.string()),
        ("prompt", pa.string()),
        ("prompt_key", pa.string()),
        ("n_prompt_chars", pa.int64()),
        ("n_counted_prefix_chars", pa.int64()),
        ("stratum", pa.string()),
        ("fault", pa.string()),
    ]
)
TOKENS = pa.schema(
    [("corpus_epoch", pa.int64()), ("turn_id", pa.string()), ("n_prefix_tokens", pa.int64()), ("fault", pa.string())]
)

# Names below the landing folder, and the views over them.
OUTPUTS = {
    "teacher_reference_facts": Output(REFERENCE_FACTS),
    "teacher_duel_margins": Output(DUEL_MARGINS),
    "teacher_duel_gates": Output(DUEL_GATES),
    "teacher_repaired": Output(REPAIRED),
    "teacher_prompts": Output(PROMPTS),
    "teacher_prompt_tokens": Output(TOKENS),
}
