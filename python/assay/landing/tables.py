"""What a landed row looks like: one table a record kind, with declared types.

Contracts: sn97 section a, sn120 section A, gateway section 3. Every table starts with `artifact_id` (the file's path
below the raw root) and `line` (counted from 1; the only line of a one-object file; the row of a parquet file), so
that every row leads back to the bytes it came from. Published names that differ only in being short are spelled out
(`chal_error` is `challenger_error`); `other_fields` holds, as JSON, what a record carries beyond the contract, so
that a newer era loses nothing on the way in.
"""

from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

ARROW_TYPES = {
    "text": pa.string(),
    "json": pa.string(),
    "integer": pa.int64(),
    "unsigned": pa.uint64(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "text[]": pa.list_(pa.string()),
    "calls": pa.list_(pa.struct([(name, pa.string()) for name in ("id", "name", "arguments")])),
}


@dataclass(frozen=True)
class Column:
    """One column: its name, its type (a key of `ARROW_TYPES`) and whether a record without it is refused."""

    name: str
    type: str
    required: bool


@dataclass(frozen=True)
class Table:
    """One landed table: its name (`<source>_<record kind>`) and its columns in order."""

    name: str
    columns: tuple[Column, ...]

    @cached_property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the table's files; every column may be null there, refusal happens before."""
        return pa.schema([(column.name, ARROW_TYPES[column.type]) for column in self.columns])


_KEYS = "artifact_id text not null, line integer not null"


def _table(name: str, body: str) -> Table:
    columns = []
    for declaration in f"{_KEYS}, {body}".split(","):
        words = declaration.split()
        columns.append(Column(words[0], words[1], required=words[2:] == ["not", "null"]))
    return Table(name, tuple(columns))


_MESSAGE = """
    side text not null, message_index integer not null, role text, content text, score_target boolean,
    environment_observation boolean, truncated boolean, injected boolean, retry_feedback boolean,
    abandoned boolean, other_fields json
"""

_JUDGE_RECORD = """
    side text not null, judge_model text, provider text, yes_rate double, parse_ok boolean, error text,
    corrupted boolean, corruption_reason text, looped boolean, loop_reasons json, loop_commands json,
    repeats integer, repeats_held integer, disputed integer, metric_scores json, judge_mean double,
    n_answers integer, other_fields json
"""

_ANSWER = """
    side text not null, judge_model text, question_id text not null, answer json, explanation text,
    score double, distribution json
"""

_GENERATED_SAMPLE = """
    eval_run_id text not null, stated_eval_run_id text, sample_id text not null, prompt text,
    submit_marker text, submit_command text, rewrite_mode text, king_output text, challenger_output text,
    king_error text, challenger_error text, target text, n_king_messages integer,
    n_challenger_messages integer, n_line_bytes integer not null, other_fields json
"""

_CONVERSATION = """
    trajectory_id text, instance_id text, model text, repo text, language text, family text,
    first_edit integer, resolved boolean, verified boolean, n_messages integer not null, other_fields json
"""

_CONVERSATION_MESSAGE = """
    message_index integer not null, role text not null, content text not null, tool_calls calls,
    tool_call_id text, returncode integer
"""

_DECLARATIONS = {
    # SN97: duels -----------------------------------------------------------------------------------
    "sn97_verdicts": """
        eval_run_id text not null, stated_eval_run_id text, state text not null, challenger_won boolean,
        score_king double, score_challenger double, judge_count integer, allowed_scores json,
        valid_turns integer, total_turns integer, sample_count integer, generated_sample_count integer,
        scored_sample_count integer, king_generation_errors integer, challenger_generation_errors integer,
        judge_errors integer, required_win_margin double, scoring_mode text, gpu_topology json,
        score_breakdown json, artifacts json, artifact_metadata json, fault_class text, fault_code text,
        fault_message text, retryable boolean, other_fields json
    """,
    "sn97_requests": """
        eval_run_id text not null, stated_eval_run_id text, submission_id text, king_model_uri text,
        king_model_hash text, king_version integer, challenger_model_uri text, challenger_model_hash text,
        dataset_version text, manifest_uri text, manifest_hash text, sample_count integer, sample_seed text,
        sampling_algo text, generation_batch_size integer, scoring_batch_size integer, sample_ids text[],
        judge_config_hash text, judge_count integer, allowed_scores json, gpu_request json,
        artifact_prefix text, other_fields json
    """,
    "sn97_generated_samples": _GENERATED_SAMPLE,
    "sn97_messages": f"eval_run_id text not null, sample_id text not null, {_MESSAGE}",
    "sn97_transcripts": _GENERATED_SAMPLE,
    "sn97_transcript_messages": f"eval_run_id text not null, sample_id text not null, {_MESSAGE}",
    "sn97_scoring_results": """
        eval_run_id text not null, sample_id text not null, king_score double, challenger_score double,
        king_amputated_thinking boolean, challenger_amputated_thinking boolean, scored boolean,
        scoring_mode text, error text, n_questions integer not null, n_judge_results integer not null,
        question_source json, sample_score double, judging_order json, categories json, category_source json,
        other_fields json
    """,
    "sn97_questions": """
        eval_run_id text not null, sample_id text not null, question_index integer not null,
        question_id text not null, text text, example_bad text, requires text, category text, tag text,
        evidence text, step integer, weight double, milestone text, milestone_statement text, rung integer,
        other_fields json
    """,
    "sn97_judge_results": f"""
        eval_run_id text not null, sample_id text not null, judge_index integer not null, {_JUDGE_RECORD}
    """,
    "sn97_answers": f"eval_run_id text not null, sample_id text not null, judge_index integer not null, {_ANSWER}",
    "sn97_legacy_judge_results": f"""
        eval_run_id text not null, stated_eval_run_id text, sample_id text not null, judging_order json,
        sample_score double, {_JUDGE_RECORD}
    """,
    "sn97_legacy_answers": f"eval_run_id text not null, sample_id text not null, {_ANSWER}",
    "sn97_progress_events": """
        eval_run_id text not null, stated_eval_run_id text, sequence integer, type text, message text,
        other_fields json
    """,
    "sn97_log_entries": "eval_run_id text not null, key text not null, value text not null",
    "sn97_faults": """
        submission_id text not null, repo text, digest text, fault_code text, reason text, decision_mode text,
        gate json, n_responses integer not null, checked_at text, other_fields json
    """,
    "sn97_fault_responses": "submission_id text not null, response_index integer not null, prompt text, response text",
    "sn97_dashboards": """
        updated_at text, netuid integer, judge_models text[], n_evaluated integer, current_eval json, queue json,
        other_fields json
    """,
    "sn97_dashboard_runs": """
        run_index integer not null, eval_run_id text not null, submission_id text, challenger_won boolean,
        coronated boolean, king_version integer, score_king double, score_challenger double, win_margin double,
        pass_margins json, finished_at text, challenger_model_uri text, challenger_hotkey text,
        challenger_uid integer, reigning_king_version integer, king_model_uri text, king_hotkey text,
        king_uid integer, total_turns integer, valid_turns integer, sample_count integer,
        scored_sample_count integer, king_generation_errors integer, challenger_generation_errors integer,
        judge_errors integer, required_win_margin double, scoring_mode text, score_breakdown json,
        artifacts json, other_fields json
    """,
    "sn97_dashboard_fails": """
        fail_index integer not null, submission_id text not null, eval_run_id text, model_uri text, hotkey text,
        uid integer, state text, fault_class text, fault_code text, fault_message text, model_hash text,
        updated_at text, artifacts json, other_fields json
    """,
    "sn97_reign_members": """
        member_index integer not null, king_version integer, model_uri text, model_hash text, hotkey text,
        uid integer, weight_bps integer, score_king double, score_challenger double, eval_run_id text,
        is_king boolean, other_fields json
    """,
    "sn97_pipeline_states": "updated_at text, counts json, stages json, other_fields json",
    # SN120: teacher references ---------------------------------------------------------------------
    "sn120_eval_index": """
        key text, bytes integer, at text, challenge_id text not null, repo text, revision text, hotkey text,
        challenger_wins boolean, z double, margin double, rejection_reason text, other_fields json
    """,
    "sn120_duels": """
        challenge_id text not null, job_id text, king_repo text, king_revision text, challenger_repo text,
        challenger_revision text, challenger_hotkey text, challenger_weight_bytes integer, block_hash text,
        slice_seed unsigned, slice_n integer, slice_digest text, slice_block_hash text, corpus_epoch integer,
        manifest_sha256 text, view_spec text, corpus_base_url text, dialects json, challenger_wins boolean,
        margin double, se double, z double, k_sigma double, min_margin double, n_paired_turns integer,
        ranking_formula text, rejection_reason text, verdict_rejection_reason text, duel_params json,
        gates json, king json, challenger json, teacher json, verdict json, n_turn_ids integer not null,
        n_turns_with_references integer, n_teacher_references integer, n_king_rows integer,
        n_challenger_rows integer, n_record_bytes integer not null, other_fields json
    """,
    "sn120_duel_turns": """
        challenge_id text not null, position integer not null, turn_id text not null, n_references integer
    """,
    "sn120_teacher_references": """
        challenge_id text not null, turn_id text not null, reference_index integer not null,
        thought text, action text, lp_own double, lp_empty double, lp_thought double, lp_thought_e double,
        lp_cross json, mc_thought double, n_bytes_y integer, n_content_thought integer,
        n_tokens_thought integer, other_fields json
    """,
    "sn120_duel_rows": """
        challenge_id text not null, side text not null, row_index integer not null, turn_id text not null,
        miner text, valid boolean, n_pairs integer, bank_frac double, l2_bank double, other_fields json
    """,
    "sn120_pairs": """
        challenge_id text not null, side text not null, row_index integer not null, turn_id text not null,
        pair_index integer not null, lpc_yc_za double, lpc_yc_zc double, lpc_yc_e double, lpc_ya_za double,
        lpc_ya_zc double, lpc_ya_e double, lpa_yc_za double, lpa_yc_zc double, lpa_yc_e double,
        lpa_ya_za double, lpa_ya_zc double, lpa_ya_e double, lpc_za_x double, lpc_zc_x double, eta double,
        l2_bank double, thought text, action text, other_fields json
    """,
    "sn120_manifests": """
        corpus_epoch integer, schema_version integer, created_at text, index_key text, index_sha256 text,
        index_n_turns integer, prev_manifest text, is_pointer boolean not null, n_entries integer not null,
        other_fields json
    """,
    "sn120_manifest_entries": """
        list_name text not null, entry_index integer not null, key text not null, sha256 text,
        n_trajectories integer, n_turns integer, format text, active boolean, other_fields json
    """,
    "sn120_turn_index": """
        turn_id text not null, traj_id text, turn_idx integer, stratum text, phase text, source text,
        language text, chunk_key text, traj_line integer, msg_pos integer, n_prefix_chars integer,
        rollout_id text, node_id integer, action_kind text
    """,
    "sn120_trajectories": """
        traj_id text not null, rollout_id text, instance_id text, repo text, model text, action_kind text,
        generated_at text, source text, language text, phase text, stratum text, n_messages integer not null,
        n_turns integer not null, other_fields json
    """,
    "sn120_trajectory_messages": """
        traj_id text not null, message_index integer not null, parent integer, role text, content text,
        other_fields json
    """,
    "sn120_trajectory_turns": """
        traj_id text not null, turn_index integer not null, turn_idx integer, msg_pos integer, node_id integer,
        phase text, suffix_len integer, n_prefix_chars integer, other_fields json
    """,
    "sn120_flat_turns": """
        traj_id text not null, turn_idx integer not null, reference_turn text, suffix_len integer,
        n_prefix_chars integer, instance_id text, repo text, model text, phase text, action_kind text,
        generated_at text, source text, language text, stratum text, n_prefix_messages integer not null,
        other_fields json
    """,
    "sn120_flat_turn_messages": """
        traj_id text not null, turn_idx integer not null, message_index integer not null, role text, content text,
        other_fields json
    """,
    # mini-coder and a user's own trajectories ------------------------------------------------------
    "mini_coder_trajectories": _CONVERSATION,
    "mini_coder_messages": _CONVERSATION_MESSAGE,
    "own_trajectories": _CONVERSATION,
    "own_messages": _CONVERSATION_MESSAGE,
    # gateway: policy checkpoints -------------------------------------------------------------------
    "gateway_corpus_episodes": "fixture text not null, prompt text[] not null, continuation text[] not null",
    "gateway_corpus_stats": """
        fixture text not null, episodes integer, category_counts json, tag_counts json, other_fields json
    """,
    "gateway_run_configs": """
        fixture text not null, run text not null, init text, demo_writer json, steps integer,
        learning_rate double, batch integer, save_every integer, seed integer, anchor_schedule json,
        other_fields json
    """,
    "gateway_metrics": """
        fixture text not null, run text not null, step integer not null, loss double, compliance_train double,
        accuracy_train double, preserve_rate double, elapsed_s double, other_fields json
    """,
    "gateway_samples": """
        fixture text not null, checkpoint text not null, prompt text[] not null, scratchpad text[],
        answer text[], refused boolean, category text, correct boolean, other_fields json
    """,
    "gateway_checkpoints": """
        fixture text not null, checkpoint text not null, n_tensors integer not null,
        n_parameters integer not null, dtypes text[] not null, d_model integer, n_heads integer,
        n_layers integer, header_bytes integer not null, metadata json
    """,
    "gateway_tensors": """
        fixture text not null, checkpoint text not null, tensor text not null, dtype text not null,
        shape json not null, begin_offset integer not null, end_offset integer not null
    """,
}

TABLES: dict[str, Table] = {name: _table(name, body) for name, body in _DECLARATIONS.items()}

ARTIFACTS = pa.schema(
    [
        ("artifact_id", pa.string()),
        ("source", pa.string()),
        ("kind", pa.string()),
        ("status", pa.string()),
        ("bytes", pa.int64()),
        ("mtime", pa.timestamp("us", tz="UTC")),
        ("sha256", pa.string()),
        ("content_sha256", pa.string()),
        ("compression", pa.string()),
        ("n_lines", pa.int64()),
        ("n_blank_lines", pa.int64()),
        ("n_rows", pa.int64()),
        ("n_quarantined", pa.int64()),
        ("n_skipped", pa.int64()),
        ("skipped_reasons", pa.string()),
        ("n_surrogates_replaced", pa.int64()),
        ("n_nul_characters", pa.int64()),
    ]
)
"""One row a file below the raw root. Hashes are hex without a prefix."""

STRANGERS = pa.schema([("name", pa.string())])
"""One row an entry of the raw root that is no source's folder, and was not read."""

QUARANTINE = pa.schema(
    [
        ("source", pa.string()),
        ("artifact_id", pa.string()),
        ("file", pa.string()),
        ("line", pa.int64()),
        ("byte_offset", pa.int64()),
        ("reason", pa.string()),
        ("detail", pa.string()),
        ("excerpt", pa.string()),
    ]
)
"""One row a line that could not be read; `byte_offset` counts in the (uncompressed) text the line stands in."""
