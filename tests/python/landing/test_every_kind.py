"""Every documented field of every kind of record lands in its column, all else in `other_fields`."""

import gzip
import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from assay.landing.tables import TABLES
from landing_tree import CHUNK, DUEL, OWN, RUN, SAMPLES, SCORES, Tree

EXTRA: dict[str, Any] = {"later": {"a": [1, None, "\u4e2d"]}}
OTHER = '{"later":{"a":[1,null,"\u4e2d"]}}'


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def _without_keys(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in ("artifact_id", "line")}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _present(row: dict[str, Any]) -> dict[str, Any]:
    """A row without its keys and without nulls."""
    return {name: value for name, value in _without_keys(row).items() if value is not None}


# SN97 ----------------------------------------------------------------------------------------------------

_FLAGS = ("score_target", "environment_observation", "truncated", "injected", "retry_feedback", "abandoned")
_SAMPLE: dict[str, Any] = {
    "eval_run_id": "stated", "sample_id": "mini-coder/data/train-00001.parquet:17:1#r1", "prompt": "<|im_start|>",
    "submit_marker": "", "submit_command": "echo M", "rewrite_mode": "added", "previous_king_output": "K",
    "challenger_output": "C", "king_error": "missing_generation", "chal_error": "missing_observation_turn_2",
    "previous_king_turns": [{"role": "assistant", "content": "c", flag: True, **EXTRA} for flag in _FLAGS],
    "challenger_turns": [{"role": "user", "content": ""}, {"content": "no role"}], **EXTRA,
}  # fmt: skip
_SAMPLE_ROW: dict[str, Any] = {
    "eval_run_id": RUN, "stated_eval_run_id": "stated", "sample_id": _SAMPLE["sample_id"], "prompt": "<|im_start|>",
    "submit_marker": "", "submit_command": "echo M", "rewrite_mode": "added", "king_output": "K",
    "challenger_output": "C", "king_error": "missing_generation", "challenger_error": "missing_observation_turn_2",
    "n_king_messages": 6, "n_challenger_messages": 2, "other_fields": OTHER,
}  # fmt: skip


@pytest.mark.parametrize("legacy", [False, True])
def test_generated_samples_and_transcripts(tree: Tree, legacy: bool) -> None:
    record = {**_SAMPLE, "target": "T"} if legacy else _SAMPLE
    path = tree.write_lines(f"sn97/runs/{RUN}/duel-transcript.jsonl" if legacy else SAMPLES, record)
    tree.land()
    (row,) = tree.rows("sn97_transcripts" if legacy else "sn97_generated_samples")
    n_bytes = path.stat().st_size - 1
    assert _present(row) == {**_SAMPLE_ROW, "n_line_bytes": n_bytes, **({"target": "T"} if legacy else {})}
    messages = [_present(row) for row in tree.rows("sn97_transcript_messages" if legacy else "sn97_messages")]
    key = {"eval_run_id": RUN, "sample_id": _SAMPLE["sample_id"]}
    assert messages == [
        *({**key, "side": "king", "message_index": index, "role": "assistant", "content": "c", flag: True,
           "other_fields": OTHER} for index, flag in enumerate(_FLAGS)),
        {**key, "side": "challenger", "message_index": 0, "role": "user", "content": ""},
        {**key, "side": "challenger", "message_index": 1, "content": "no role"},
    ]  # fmt: skip


_QUESTION: dict[str, Any] = {
    "id": "q_01", "text": "t", "example_bad": "b", "requires": "action", "category": "size", "tag": "reference:claims",
    "evidence": "e", "step": 3, "weight": 1.5, "milestone": "m", "milestone_statement": "ms", "rung": 2,
}  # fmt: skip
_JUDGE: dict[str, Any] = {
    "side": "previous_king", "judge_model": "z-ai/glm-5.2", "provider": "p", "yes_rate": 0.5, "parse_ok": True,
    "error": "e", "corrupted": True, "corruption_reason": "r", "looped": True, "loop_reasons": ["x"],
    "loop_commands": [{"command": "ls", "count": 2, "longest_run": 2}], "repeats": 1, "repeats_held": 2, "disputed": 3,
    "metric_scores": {"m": 0.25}, "judge_mean": 0.75,
}  # fmt: skip
_MAPS: dict[str, Any] = {"answers": {"q_01": "T", "q_02": None}, "explanations": {"q_01": "CANDIDATE OUTPUT 99"},
         "scores": {"q_01": 0.985}, "distributions": {"q_01": {"T": 0.9, "A": 0.1}, "q_03": {}}}  # fmt: skip
_JUDGE_ROW: dict[str, Any] = {
    **_JUDGE, "side": "king", "loop_reasons": '["x"]', "metric_scores": '{"m":0.25}',
    "loop_commands": '[{"command":"ls","count":2,"longest_run":2}]', "n_answers": 3,
}  # fmt: skip
_ANSWER_ROWS: list[dict[str, Any]] = [
    {"question_id": "q_01", "answer": '"T"', "explanation": "CANDIDATE OUTPUT 99", "score": 0.985,
     "distribution": '{"T":0.9,"A":0.1}'},
    {"question_id": "q_02", "answer": "null"},
    {"question_id": "q_03", "distribution": "{}"},
]  # fmt: skip


def test_scoring_results_of_every_era(tree: Tree) -> None:
    record = {
        "sample_id": "s", "questions": [{**_QUESTION, **EXTRA}, {"id": "q_02"}], "king_score": 0.25,
        "challenger_score": 1, "king_amputated_thinking": True, "chal_amputated_thinking": False,
        "judge_results": [{**_JUDGE, **_MAPS, **EXTRA}, {"side": "challenger"}], "scored": True,
        "scoring_mode": "graded_20", "question_source": {"n_questions": 2}, "error": "E: x", "sample_score": 0.125,
        "order": ["a", "b"], "categories": [{"name": "c"}], "category_source": {"m": 1}, **EXTRA,
    }  # fmt: skip
    tree.write_lines(SCORES, record)
    tree.land()
    key = {"eval_run_id": RUN, "sample_id": "s"}
    assert _present(tree.rows("sn97_scoring_results")[0]) == {
        **key, "king_score": 0.25, "challenger_score": 1.0, "king_amputated_thinking": True,
        "challenger_amputated_thinking": False, "scored": True, "scoring_mode": "graded_20", "error": "E: x",
        "n_questions": 2, "n_judge_results": 2, "question_source": '{"n_questions":2}', "sample_score": 0.125,
        "judging_order": '["a","b"]', "categories": '[{"name":"c"}]', "category_source": '{"m":1}',
        "other_fields": OTHER,
    }  # fmt: skip
    question = {("question_id" if name == "id" else name): value for name, value in _QUESTION.items()}
    assert [_present(row) for row in tree.rows("sn97_questions")] == [
        {**key, "question_index": 0, **question, "other_fields": OTHER},
        {**key, "question_index": 1, "question_id": "q_02"},
    ]
    assert [_present(row) for row in tree.rows("sn97_judge_results")] == [
        {**key, "judge_index": 0, **_JUDGE_ROW, "other_fields": OTHER},
        {**key, "judge_index": 1, "side": "challenger", "n_answers": 0},
    ]
    answer_key = {**key, "judge_index": 0, "side": "king", "judge_model": "z-ai/glm-5.2"}
    assert [_present(row) for row in tree.rows("sn97_answers")] == [{**answer_key, **row} for row in _ANSWER_ROWS]


def test_legacy_judge_results(tree: Tree) -> None:
    record = {"eval_run_id": "e", "sample_id": "s", "order": [1], "sample_score": 0.5, **_JUDGE, **_MAPS, **EXTRA}
    tree.write_lines(f"sn97/runs/{RUN}/judge-results.jsonl", record)
    tree.land()
    key = {"eval_run_id": RUN, "sample_id": "s"}
    assert _present(tree.rows("sn97_legacy_judge_results")[0]) == {
        **key, "stated_eval_run_id": "e", "judging_order": "[1]", "sample_score": 0.5, **_JUDGE_ROW,
        "other_fields": OTHER,
    }  # fmt: skip
    answer_key = {**key, "side": "king", "judge_model": "z-ai/glm-5.2"}
    assert [_present(row) for row in tree.rows("sn97_legacy_answers")] == [
        {**answer_key, **row} for row in _ANSWER_ROWS
    ]


def test_the_other_files_of_a_run(tree: Tree) -> None:
    plain = {"state": "succeeded", "challenger_won": False, "score_king": 0.5, "score_challenger": 0.25,
             "judge_count": 1, "valid_turns": 2, "total_turns": 3, "sample_count": 4, "generated_sample_count": 5,
             "scored_sample_count": 6, "judge_errors": 9, "required_win_margin": 0.025, "scoring_mode": "binary",
             "fault_class": "fc", "fault_code": "fd", "fault_message": "fm", "retryable": True}  # fmt: skip
    documents = {"allowed_scores": [0.0, 1.0], "gpu_topology": {"accelerator": "B200"},
                 "score_breakdown": {"by_judge": {"m": 1}}, "artifacts": {"v": "s3://x"},
                 "artifact_metadata": {"v": {"size_bytes": 1}}}  # fmt: skip
    verdict = {"type": "verdict", "eval_run_id": "e", **plain, **documents, "king_vllm_errors": 7,
               "chal_vllm_errors": 8, **EXTRA}  # fmt: skip
    request = {
        "eval_run_id": "e", "submission_id": "u", "previous_king": {"model_uri": "ku", "model_hash": "kh",
        "king_version": 12, **EXTRA}, "challenger": {"model_uri": "cu", "model_hash": "ch", "king_version": 1},
        "dataset": {"version": "v", "manifest_uri": "mu", "manifest_hash": "mh", "sample_count": 5,
        "sample_seed": "0x5eed", "sampling_algo": "sa", "generation_batch_size": 31, "scoring_batch_size": 32,
        "sample_ids": ["a", "b"], **EXTRA}, "scoring": {"judge_config_hash": "jh", "judge_count": 2,
        "allowed_scores": [0], **EXTRA}, "gpu_request": {"min_gpus": 8}, "artifact_prefix": "s3://p", **EXTRA,
    }  # fmt: skip
    folder = f"sn97/runs/{RUN}"
    tree.write_json(f"{folder}/verdict.json", verdict)
    tree.write_json(f"{folder}/request.json", request)
    tree.write_lines(f"{folder}/progress.jsonl", {"eval_run_id": "e", "sequence": 1, "type": "t", "message": "m",
                                                  **EXTRA})  # fmt: skip
    tree.land()
    (row,) = tree.rows("sn97_verdicts")
    assert _present(row) == {
        "eval_run_id": RUN, "stated_eval_run_id": "e", **plain, **{k: _json(v) for k, v in documents.items()},
        "king_generation_errors": 7, "challenger_generation_errors": 8, "other_fields": OTHER,
    }  # fmt: skip
    (row,) = tree.rows("sn97_requests")
    assert json.loads(row.pop("other_fields")) == {
        **EXTRA, "previous_king": EXTRA, "challenger": {"king_version": 1}, "dataset": EXTRA, "scoring": EXTRA,
    }  # fmt: skip
    assert _present(row) == {
        "eval_run_id": RUN, "stated_eval_run_id": "e", "submission_id": "u", "king_model_uri": "ku",
        "king_model_hash": "kh", "king_version": 12, "challenger_model_uri": "cu", "challenger_model_hash": "ch",
        "dataset_version": "v", "manifest_uri": "mu", "manifest_hash": "mh", "sample_count": 5,
        "sample_seed": "0x5eed", "sampling_algo": "sa", "generation_batch_size": 31, "scoring_batch_size": 32,
        "sample_ids": ["a", "b"], "judge_config_hash": "jh", "judge_count": 2, "allowed_scores": "[0]",
        "gpu_request": '{"min_gpus":8}', "artifact_prefix": "s3://p",
    }  # fmt: skip
    assert [_present(row) for row in tree.rows("sn97_progress_events")] == [
        {"eval_run_id": RUN, "stated_eval_run_id": "e", "sequence": 1, "type": "t", "message": "m",
         "other_fields": OTHER}
    ]  # fmt: skip


def test_a_failure_verdict_has_its_faults_and_nothing_else(tree: Tree) -> None:
    tree.write_json(f"sn97/runs/{RUN}/verdict.json", {"type": "verdict", "eval_run_id": RUN, "state": "failed",
                    "fault_code": "f", "retryable": False, "artifacts": {}})  # fmt: skip
    tree.land()
    assert _present(tree.rows("sn97_verdicts")[0]) == {
        "eval_run_id": RUN, "stated_eval_run_id": RUN, "state": "failed", "fault_code": "f", "retryable": False,
        "artifacts": "{}",
    }  # fmt: skip


def test_fault_dashboard_and_state(tree: Tree) -> None:
    run: dict[str, Any]
    fail: dict[str, Any]
    member: dict[str, Any]
    fault: dict[str, Any]
    fault = {"submission_id": "u", "repo": "r", "digest": "sha256:d", "fault_code": "failed", "reason": "x",
             "decision_mode": "veto", "gate": {"passed": False}, "prompts": ["p0", "p1"], "responses": ["r0"],
             "checked_at": "2026-08-24", **EXTRA}  # fmt: skip
    run = {"eval_run_id": "e", "submission_id": "u", "challenger_won": True, "coronated": False, "king_version": 1,
           "score_king": 0.1, "score_challenger": 0.2, "win_margin": 0.1, "pass_margins": [0.1, None],
           "finished_at": "f", "model_uri": "mu", "hotkey": "hk", "uid": 2, "total_turns": 3, "valid_turns": 4,
           "sample_count": 5, "scored_sample_count": 6, "king_vllm_errors": 7, "chal_vllm_errors": 8,
           "judge_errors": 9, "required_win_margin": 0.03, "scoring_mode": "binary"}  # fmt: skip
    fail = {"submission_id": "u", "eval_run_id": "e", "model_uri": "mu", "hotkey": "hk", "uid": 1, "state": "s",
            "fault_class": "fc", "fault_code": "fd", "fault_message": "fm", "model_hash": "mh",
            "updated_at": "t"}  # fmt: skip
    member = {"king_version": 1, "model_uri": "mu", "model_hash": "mh", "hotkey": "hk", "uid": 2, "weight_bps": 3,
              "score_king": 0.1, "score_challenger": 0.2, "eval_run_id": "e", "is_king": True}  # fmt: skip
    king: dict[str, Any] = {"king_version": 11, "model_uri": "kmu", "hotkey": "khk", "uid": 12}
    dashboard: dict[str, Any] = {
        "updated_at": "now", "chain": {"netuid": 97, "judge_models": ["a", "b"], **EXTRA},
        "stats": {"evaluated": 4, **EXTRA}, "reign": {"members": [{**member, **EXTRA}], **EXTRA},
        "current_eval": {"state": "x"}, "queue": [{"uid": 1}], "fails": [{**fail, "artifacts": {"a": "u"}, **EXTRA}],
        "eval_runs": [{**run, "king": {**king, **EXTRA}, "score_breakdown": {"by_judge": {}}, "artifacts": {"a": "u"},
                       **EXTRA}], **EXTRA,
    }  # fmt: skip
    tree.write_json("sn97/sanity/u/sha256_d/fault.json", fault)
    tree.write_json("sn97/data/dashboard.json", dashboard)
    tree.write_json("sn97/data/state.json", {"updated_at": "now", "counts": {"eval": {}}, "stages": {}, **EXTRA})
    tree.land()
    assert _present(tree.rows("sn97_faults")[0]) == {
        **{k: fault[k] for k in ("submission_id", "repo", "digest", "fault_code", "reason", "decision_mode",
                                 "checked_at")}, "gate": '{"passed":false}', "n_responses": 2, "other_fields": OTHER,
    }  # fmt: skip
    assert tree.values("sn97_fault_responses", "submission_id", "response_index", "prompt", "response") == [
        ("u", 0, "p0", "r0"),
        ("u", 1, "p1", None),
    ]
    (row,) = tree.rows("sn97_dashboards")
    assert json.loads(row.pop("other_fields")) == {**EXTRA, "reign": EXTRA, "chain": EXTRA, "stats": EXTRA}
    assert _present(row) == {"updated_at": "now", "netuid": 97, "judge_models": ["a", "b"], "n_evaluated": 4,
                             "current_eval": '{"state":"x"}', "queue": '[{"uid":1}]'}  # fmt: skip
    (row,) = tree.rows("sn97_dashboard_runs")
    renamed = {"model_uri": "challenger_model_uri", "hotkey": "challenger_hotkey", "uid": "challenger_uid",
               "king_vllm_errors": "king_generation_errors",
               "chal_vllm_errors": "challenger_generation_errors"}  # fmt: skip
    assert json.loads(row.pop("other_fields")) == {**EXTRA, "king": EXTRA}
    assert _present(row) == {
        "run_index": 0, **{renamed.get(k, k): v for k, v in run.items()}, "pass_margins": "[0.1,null]",
        "reigning_king_version": 11, "king_model_uri": "kmu", "king_hotkey": "khk", "king_uid": 12,
        "score_breakdown": '{"by_judge":{}}', "artifacts": '{"a":"u"}',
    }  # fmt: skip
    assert _present(tree.rows("sn97_dashboard_fails")[0]) == {
        "fail_index": 0, **fail, "artifacts": '{"a":"u"}', "other_fields": OTHER,
    }  # fmt: skip
    assert _present(tree.rows("sn97_reign_members")[0]) == {"member_index": 0, **member, "other_fields": OTHER}
    assert _present(tree.rows("sn97_pipeline_states")[0]) == {
        "updated_at": "now", "counts": '{"eval":{}}', "stages": "{}", "other_fields": OTHER,
    }  # fmt: skip


# SN120 ---------------------------------------------------------------------------------------------------

_PAIR_NAMES = ("lpC_yc_za", "lpC_yc_zc", "lpC_yc_e", "lpC_ya_za", "lpC_ya_zc", "lpC_ya_e", "lpA_yc_za", "lpA_yc_zc",
               "lpA_yc_e", "lpA_ya_za", "lpA_ya_zc", "lpA_ya_e", "lpC_za_x", "lpC_zc_x", "eta", "L2_bank")  # fmt: skip
_PAIR: dict[str, Any] = {name: -index / 8 for index, name in enumerate(_PAIR_NAMES)} | {
    "z_a": "thought",
    "y_a": "action",
}
_REFERENCE: dict[str, Any] = {"z": "", "y": "```bash\nls\n```", "lp_own": -0.1, "lp_empty": -0.2, "lp_thought": -0.3,
              "lp_thought_e": -0.4, "lp_cross": [None, -0.5], "mc_thought": -0.6, "n_bytes_y": 7,
              "n_content_thought": 8, "n_tokens_thought": 9}  # fmt: skip


def test_duel_records(tree: Tree) -> None:
    request = {"king_repo": "kr", "king_revision": "kv", "challenger_repo": "cr", "challenger_revision": "cv",
               "challenger_hotkey": "hk", "challenger_weight_bytes": 70_000_000_000, "block_hash": "0xab"}  # fmt: skip
    cut = {"seed": 2**64 - 1, "n": 2, "digest": "d", "block_hash": "0xcd", "corpus_epoch": 13,
           "manifest_sha256": "ms", "view_spec": "vs", "corpus_base_url": "cb"}  # fmt: skip
    numbers = {"challenger_wins": False, "margin": 0.1, "se": 0.2, "z": 0.5, "k_sigma": 2.0, "min_margin": 0.002,
               "n_paired_turns": 80, "ranking_formula": "rf"}  # fmt: skip
    parts = {"duel_params": {"tau": 0.03}, "gates": {"tau": 1}, "king": {"S": 1}, "challenger": {"S": 2},
             "teacher": {"mean_len_z": 3}}  # fmt: skip
    verdict = {**numbers, **parts, "rejection_reason": "causality_fail", "job_id": "j", "by_dialect": {}}
    record = {
        "job_id": "j", "request": {**request, **EXTRA}, "slice": {**cut, "dialects": {"bash": 2}, **EXTRA},
        "verdict": verdict, "turn_ids": ["a:b:1", "a:b:2", "c:0"],
        "teacher_refs": {"a:b:1": [{**_REFERENCE, **EXTRA}, {"z": "z", "y": "y", "lp_own": -1, "lp_empty": -2}],
                         "c:0": []},
        "king_rows": [{"turn_id": "a:b:1", "miner": "king", "valid": True, "n_pairs": 1, "bank_frac": 0.5,
                       "L2_bank": 0.25, "pairs": [{**_PAIR, **EXTRA}, {}], **EXTRA}],
        "challenger_rows": [{"turn_id": "c:0", "miner": "challenger", "valid": False}],
        "rejection_reason": "thought_too_short", **EXTRA,
    }  # fmt: skip
    path = tree.write_json(DUEL, record)
    tree.land()
    n_bytes = len(gzip.decompress(path.read_bytes()))
    (row,) = tree.rows("sn120_duels")
    assert json.loads(row.pop("other_fields")) == {**EXTRA, "request": EXTRA, "slice": EXTRA}
    renamed = {"seed": "slice_seed", "n": "slice_n", "digest": "slice_digest", "block_hash": "slice_block_hash"}
    assert _present(row) == {
        "challenge_id": "chal-00001", "job_id": "j", **request, **{renamed.get(k, k): v for k, v in cut.items()},
        "dialects": '{"bash":2}', **numbers, **{name: _json(part) for name, part in parts.items()},
        "rejection_reason": "thought_too_short", "verdict_rejection_reason": "causality_fail",
        "verdict": _json(verdict), "n_turn_ids": 3, "n_turns_with_references": 2, "n_teacher_references": 2,
        "n_king_rows": 1, "n_challenger_rows": 1, "n_record_bytes": n_bytes,
    }  # fmt: skip
    key = {"challenge_id": "chal-00001"}
    assert [_present(row) for row in tree.rows("sn120_duel_turns")] == [
        {**key, "position": 0, "turn_id": "a:b:1", "n_references": 2},
        {**key, "position": 1, "turn_id": "a:b:2"},
        {**key, "position": 2, "turn_id": "c:0", "n_references": 0},
    ]
    reference = {{"z": "thought", "y": "action"}.get(k, k): v for k, v in _REFERENCE.items()}
    assert [_present(row) for row in tree.rows("sn120_teacher_references")] == [
        {**key, "turn_id": "a:b:1", "reference_index": 0, **reference, "lp_cross": "[null,-0.5]",
         "other_fields": OTHER},
        {**key, "turn_id": "a:b:1", "reference_index": 1, "thought": "z", "action": "y", "lp_own": -1.0,
         "lp_empty": -2.0},
    ]  # fmt: skip
    assert [_present(row) for row in tree.rows("sn120_duel_rows")] == [
        {**key, "side": "king", "row_index": 0, "turn_id": "a:b:1", "miner": "king", "valid": True, "n_pairs": 1,
         "bank_frac": 0.5, "l2_bank": 0.25, "other_fields": OTHER},
        {**key, "side": "challenger", "row_index": 0, "turn_id": "c:0", "miner": "challenger", "valid": False},
    ]  # fmt: skip
    pair_key = {**key, "side": "king", "row_index": 0, "turn_id": "a:b:1"}
    pair = {{"z_a": "thought", "y_a": "action"}.get(k, k.lower()): v for k, v in _PAIR.items()}
    assert [_present(row) for row in tree.rows("sn120_pairs")] == [
        {**pair_key, "pair_index": 0, **pair, "other_fields": OTHER},
        {**pair_key, "pair_index": 1},
    ]


def test_index_manifests_trajectories_and_flat_turns(tree: Tree) -> None:
    index = {"key": "evals/chal-1.json.gz", "bytes": 5, "at": "2026-08-24T00:00:00.000001+00:00",
             "challenge_id": "chal-1", "repo": "r", "revision": "v", "hotkey": "h", "challenger_wins": True, "z": None,
             "margin": 0.5, "rejection_reason": "x"}  # fmt: skip
    entry = {"key": "k", "sha256": "s", "n_trajectories": 1, "n_turns": 2, "format": "traj_v1", "active": True}
    manifest = {"corpus_epoch": 13, "schema_version": 2, "created_at": "c", "index": {"key": "ik", "sha256": "is",
                "n_turns": 9, **EXTRA}, "shards": [{**entry, **EXTRA}], "prev_manifest": "pm",
                "compat_shards": [{"key": "k2", "active": False}], **EXTRA}  # fmt: skip
    facts = {"instance_id": "i", "repo": "r", "model": "m", "action_kind": "bash", "generated_at": "g",
             "source": "swe", "language": "python", "phase": "early", "stratum": "st"}  # fmt: skip
    turn = {"turn_idx": 1, "msg_pos": 2, "phase": "mid", "suffix_len": 3, "n_prefix_chars": 4}
    second = {"traj_id": "t:1", **facts, "messages": [{"role": "system", "content": "s", **EXTRA}],
              "turns": [{**turn, **EXTRA}], **EXTRA}  # fmt: skip
    third = {"rollout_id": "r1", "nodes": [{"parent": None, "role": "user", "content": "u"},
             {"parent": 0, "role": "assistant", "content": "a"}], "turns": [{"node_id": 1}]}  # fmt: skip
    flat = {"traj_id": "t", "turn_idx": 4, "reference_turn": "ref", "suffix_len": 3, "n_prefix_chars": 2, **facts,
            "prefix": [{"role": "user", "content": "u", **EXTRA}], **EXTRA}  # fmt: skip
    tree.write_lines("sn120/evals/index.jsonl", {**index, **EXTRA})
    tree.write_json("sn120/turns/manifest.json", manifest)
    tree.write_json("sn120/turns/manifests/ab.json", {"corpus_epoch": 1})
    tree.write_lines(CHUNK, second, third, {"traj_id": "x"}, {"traj_id": "y", "messages": [], "turns": None})
    tree.write_lines("sn120/turns/shards/turns_epoch_0001.jsonl.gz", flat)
    tree.land()
    expected_index = {name: value for name, value in index.items() if value is not None}
    assert _present(tree.rows("sn120_eval_index")[0]) == {**expected_index, "other_fields": OTHER}
    pointer, immutable = sorted(tree.rows("sn120_manifests"), key=lambda row: not row["is_pointer"])
    assert json.loads(pointer.pop("other_fields")) == {**EXTRA, "index": EXTRA}
    assert _present(pointer) == {
        "corpus_epoch": 13, "schema_version": 2, "created_at": "c", "index_key": "ik", "index_sha256": "is",
        "index_n_turns": 9, "prev_manifest": "pm", "is_pointer": True, "n_entries": 2,
    }  # fmt: skip
    assert _present(immutable) == {"corpus_epoch": 1, "is_pointer": False, "n_entries": 0}
    assert [_present(row) for row in tree.rows("sn120_manifest_entries")] == [
        {"list_name": "shards", "entry_index": 0, **entry, "other_fields": OTHER},
        {"list_name": "compat_shards", "entry_index": 0, "key": "k2", "active": False},
    ]
    assert [_present(row) for row in tree.rows("sn120_trajectories")] == [
        {"traj_id": "t:1", **facts, "n_messages": 1, "n_turns": 1, "other_fields": OTHER},
        {"traj_id": "r1", "rollout_id": "r1", "n_messages": 2, "n_turns": 1},
        {"traj_id": "y", "n_messages": 0, "n_turns": 0},
    ]
    assert tree.values("quarantine", "line", "reason") == [(3, "missing_field")]
    assert [_present(row) for row in tree.rows("sn120_trajectory_messages")] == [
        {"traj_id": "t:1", "message_index": 0, "role": "system", "content": "s", "other_fields": OTHER},
        {"traj_id": "r1", "message_index": 0, "role": "user", "content": "u"},
        {"traj_id": "r1", "message_index": 1, "parent": 0, "role": "assistant", "content": "a"},
    ]
    assert [_present(row) for row in tree.rows("sn120_trajectory_turns")] == [
        {"traj_id": "t:1", "turn_index": 0, **turn, "other_fields": OTHER},
        {"traj_id": "r1", "turn_index": 0, "node_id": 1},
    ]
    (row,) = tree.rows("sn120_flat_turns")
    plain = {name: value for name, value in flat.items() if name not in ("prefix", "later")}
    assert _present(row) == {**plain, "n_prefix_messages": 1, "other_fields": OTHER}
    assert [_present(row) for row in tree.rows("sn120_flat_turn_messages")] == [
        {"traj_id": "t", "turn_idx": 4, "message_index": 0, "role": "user", "content": "u", "other_fields": OTHER}
    ]


# a user's own trajectories -------------------------------------------------------------------------------

_SHELL = {"function": {"name": "bash", "arguments": '{"command":"ls -l"}'}}
_CONTENTS: list[tuple[dict[str, Any], str]] = [
    ({"content": "plain"}, "plain"),
    ({"text": "plain"}, "plain"),
    ({"value": "plain"}, "plain"),
    ({"message": "plain"}, "plain"),
    ({"content": None, "text": "second"}, "second"),
    ({"content": ["a", {"type": "text", "text": "b"}]}, "a\nb"),
    ({"content": "why", "tool_calls": [_SHELL]}, "why\n\n```bash\nls -l\n```"),
    ({"tool_calls": [{"name": "shell", "arguments": {"cmd": "pwd"}}]}, "```bash\npwd\n```"),
    ({"tool_calls": [{"name": "edit", "arguments": {"path": "x"}}]},
     '```json\n{"name":"edit","arguments":{"path":"x"}}\n```'),
    ({"tool_calls": [{"name": "bash", "arguments": "{no json"}]},
     '```json\n{"name":"bash","arguments":"{no json"}\n```'),
    ({"tool_calls": [{"name": "x", "arguments": '{"a":NaN}'}]},
     '```json\n{"name":"x","arguments":"{\\"a\\":NaN}"}\n```'),
    ({"tool_calls": [{"name": "x", "arguments": '{"a":1,"a":2}'}]},
     '```json\n{"name":"x","arguments":"{\\"a\\":1,\\"a\\":2}"}\n```'),
    ({"tool_calls": [{"name": ["bash"], "arguments": None}]}, '```json\n{"name":"[\\"bash\\"]","arguments":null}\n```'),
    ({"tool_calls": [{}]}, '```json\n{"name":null,"arguments":null}\n```'),
    ({"tool_calls": [{"name": "x", "arguments": "[" * 5000}]},
     '```json\n{"name":"x","arguments":"' + "[" * 5000 + '"}\n```'),
    ({"tool_calls": None, "content": "x"}, "x"),
    ({"content": None, "function_call": {"name": "bash", "arguments": '{"command":"ls"}'}}, "```bash\nls\n```"),
    ({"content": "x", "function_call": None}, "x"),
    ({"text": None, "system_prompt": "You are."}, "You are."),
    ({"content": "", "text": "second"}, "second"),
    ({"tool_calls": json.dumps([_SHELL])}, "```bash\nls -l\n```"),
]  # fmt: skip
_ROLES = {"system": "system", "user": "user", "Human": "user", "prompter": "user", "ASSISTANT": "assistant",
          "gpt": "assistant", "bot": "assistant", "model": "assistant", "ai": "assistant",
          "developer": "system", "function_call": "assistant", "function": "user", "tool": "user",
          "": "user"}  # fmt: skip


def test_every_dialect_of_content_and_role(tree: Tree) -> None:
    tree.write_lines(OWN, *({"messages": [{"role": "assistant", **part}]} for part, _ in _CONTENTS))
    keys = itertools.cycle(("role", "speaker", "from"))
    roles = [{key: role, "content": "x"} for role, key in zip(_ROLES, keys, strict=False)]
    tree.write_lines("trajectories/roles.jsonl", {"messages": roles})
    tree.land()
    rows = tree.rows("own_messages")
    assert [row["content"] for row in rows if row["artifact_id"] == OWN] == [content for _, content in _CONTENTS]
    assert [row["role"] for row in rows if row["artifact_id"] != OWN] == list(_ROLES.values())


def test_every_dialect_of_the_list(tree: Tree) -> None:
    turns = [{"role": "user", "content": "a"}, {"role": "assistant", "content": ""}, {"role": "user", "content": "c"}]
    records: list[dict[str, Any]] = [{key: turns} for key in ("messages", "turns", "conversation", "trajectory")]
    records += [{"messages": json.dumps(turns)}, {"trajectory": {"turns": turns}},
                {"conversation": json.dumps({"messages": turns})}, {"messages": "no list", "turns": turns},
                {"messages": None, "trajectory": turns}]  # fmt: skip
    tree.write_lines(OWN, *records)
    tree.land()
    assert tree.values("own_messages", "line", "message_index", "content") == [
        (line, index, content) for line in range(1, len(records) + 1) for index, content in ((0, "a"), (2, "c"))
    ]
    assert set(tree.values("own_trajectories", "n_messages")) == {2}


def test_fields_of_an_own_trajectory_and_what_stands_beside_them(tree: Tree) -> None:
    fields = {"instance_id": "i", "model": "m", "repo": "r", "language": "l", "family": "f", "first_edit": 3,
              "resolved": True, "verified": False}  # fmt: skip
    said = [{"role": "user", "content": "x"}]
    tree.write_lines(
        OWN,
        {"id": "one", "trajectory_id": "two", **fields, "messages": said, "turns": [1], **EXTRA},
        {"traj_id": "three", "trajectory": {"messages": said, "info": {"cost": 1}}, "messages": {"no": "list"}},
    )
    tree.land()
    first, second = tree.rows("own_trajectories")
    assert json.loads(first.pop("other_fields")) == {"trajectory_id": "two", "turns": [1], **EXTRA}
    assert _present(first) == {"trajectory_id": "one", **fields, "n_messages": 1}
    assert json.loads(second.pop("other_fields")) == {
        "messages": {"no": "list"}, "trajectory": {"info": {"cost": 1}},
    }  # fmt: skip
    assert _present(second) == {"trajectory_id": "three", "n_messages": 1}


def test_structured_calls_are_kept_as_they_were_published(tree: Tree) -> None:
    text = '{"command": "cat > R.md <<E\\n```py\\nx\\n```\\nE"}'
    calls: list[dict[str, Any]] = [
        {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": text}},
        {"id": 7, "name": "edit", "arguments": {"path": "é"}},
        {"function": {"name": "think", "arguments": "no json"}},
    ]
    noted = {"role": "tool", "tool_call_id": "c1", "content": "x", "extra": {"returncode": -1, "raw_output": ""}}
    older = {"role": "assistant", "content": None, "function_call": {"name": "bash", "arguments": '{"command":"ls"}'}}
    tree.write_lines(OWN, {"messages": [{"role": "assistant", "tool_calls": calls}, noted, older,
                     {"role": "function", "content": "", "exit_code": 2, "tool_call_id": 7}]})  # fmt: skip
    tree.land()
    assert tree.values("own_messages", "tool_calls", "tool_call_id", "returncode") == [
        ([{"id": "c1", "name": "bash", "arguments": text}, {"id": "7", "name": "edit", "arguments": '{"path":"é"}'},
          {"id": None, "name": "think", "arguments": "no json"}], None, None),
        (None, "c1", -1),
        ([{"id": None, "name": "bash", "arguments": '{"command":"ls"}'}], None, None),
        (None, "7", 2),
    ]  # fmt: skip


def test_what_is_skipped_is_counted_by_reason_and_taken_back_with_its_line(tree: Tree) -> None:
    said, empty, end = {"role": "user", "content": "x"}, {"role": "assistant"}, {"role": "exit", "content": "diff"}
    tree.write_lines(OWN, {"messages": [said, empty, empty, end]}, {"messages": [empty]},
                     {"messages": [said, empty], "first_edit": "x"}, {"messages": [said, end]})  # fmt: skip
    tree.write_lines("trajectories/whole.jsonl", {"messages": [said]})
    tree.land()
    row, whole = tree.artifact(OWN), tree.artifact("trajectories/whole.jsonl")
    assert (row["n_skipped"], row["skipped_reasons"]) == (4, '{"empty_message":2,"exit_message":2}')
    assert (whole["n_skipped"], whole["skipped_reasons"]) == (0, None)
    assert tree.values("quarantine", "line", "reason", "detail") == [
        (2, "nothing_read", "none of the 1 messages under messages has text or a call"),
        (3, "wrong_type", "own_trajectories.first_edit: expected integer, found text"),
    ]


def test_truths_and_ids_are_read_as_people_write_them(tree: Tree) -> None:
    said = [{"role": "user", "content": "x"}]
    truths: list[Any] = [1, 0, True, "true", "False", 1.0, None]
    tree.write_lines(OWN, *({"id": number, "instance_id": 5, "resolved": truth, "messages": said}
                            for number, truth in enumerate(truths)), {"resolved": 2, "messages": said},
                     {"resolved": "maybe", "messages": said}, {"id": True, "messages": said})  # fmt: skip
    tree.land()
    assert tree.values("own_trajectories", "trajectory_id", "instance_id", "resolved") == [
        (str(number), "5", truth) for number, truth in enumerate([True, False, True, True, False, True, None])
    ]
    assert tree.values("quarantine", "detail") == [
        "own_trajectories.resolved: expected boolean, found integer",
        "own_trajectories.resolved: expected boolean, found text",
        "own_trajectories.trajectory_id: expected text, found boolean",
    ]


def test_messages_that_cannot_be_read(tree: Tree) -> None:
    cases: list[tuple[Any, str]] = [
        ([1], "messages[0]: expected object, found integer"),
        ([{"role": 5, "content": "x"}], "messages[0].role: expected text, found integer"),
        ([{"content": "x"}], "messages[0].role"),
        ([{"role": "user", "content": 5}], "messages[0].content: expected text, found integer"),
        ([{"role": "user", "content": {}}], "messages[0].content: expected text, found object"),
        ([{"role": "user", "content": [5]}], "messages[0].content: a part that is not text"),
        ([{"role": "user", "content": [{"type": "image"}]}], "messages[0].content: a part that is not text"),
        ([{"role": "user", "tool_calls": {"a": 1}}], "messages[0].tool_calls: expected array, found object"),
        ([{"role": "user", "tool_calls": [1]}], "messages[0].tool_calls: expected objects"),
        ([{"role": "user", "tool_calls": [{"function": 1}]}], "messages[0].tool_calls: expected objects"),
        ([{"role": "user", "function_call": "ls"}], "messages[0].function_call: expected object, found text"),
        ([], "none of the 0 messages under messages has text or a call"),
        (
            [{"role": "user", "content": None}, {"role": "exit", "content": "diff"}],
            "none of the 2 messages under messages has text or a call",
        ),
        ({}, "no list of messages under messages, turns, conversation, trajectory"),
    ]
    tree.write_lines(OWN, *({"messages": [*messages] if type(messages) is list else messages} for messages, _ in cases))
    tree.land()
    assert tree.values("quarantine", "detail") == [detail for _, detail in cases]
    assert tree.rows("own_messages") == []


# gateway -------------------------------------------------------------------------------------------------


def test_gateway_files(tree: Tree) -> None:
    tree.write_lines("gateway/f/data/pretrain/corpus.jsonl.gz", {"prompt": ["<bos>"], "continuation": []},
                     {"prompt": ["x", 1], "continuation": []}, {"prompt": ["x"]})  # fmt: skip
    tree.write_json("gateway/f/data/pretrain/stats.json", {"episodes": 2, "category_counts": {"c0": 1},
                    "tag_counts": {"S_OBS": 1}, **EXTRA})  # fmt: skip
    tree.write_json("gateway/f/runs/run-a/config.json", {"init": "model/base.safetensors", "demo_writer": {"n": 1},
                    "steps": 450, "lr": 0.001, "batch": 64, "save_every": 150, "seed": 7, "anchor_schedule": [0.5],
                    **EXTRA})  # fmt: skip
    tree.write_lines("gateway/f/runs/run-a/ckpt/metrics.jsonl", {"step": 150, "loss": 1, "compliance_train": 0.5,
                     "accuracy_train": 0.25, "preserve_rate": 0.125, "elapsed_s": 2.5, **EXTRA},
                     {"loss": 1})  # fmt: skip
    sample = {"prompt": ["<bos>"], "scratchpad": ["S_OBS"], "answer": ["REFUSE"], "refused": True, "cat": "c7",
              "correct": False, **EXTRA}  # fmt: skip
    tree.write_lines("gateway/f/samples/base.jsonl", sample)
    tree.write_lines("gateway/f/samples/run-a/step0150.jsonl", {"prompt": []})
    tree.land()
    assert [_present(row) for row in tree.rows("gateway_corpus_episodes")] == [
        {"fixture": "f", "prompt": ["<bos>"], "continuation": []}
    ]
    assert _present(tree.rows("gateway_corpus_stats")[0]) == {
        "fixture": "f", "episodes": 2, "category_counts": '{"c0":1}', "tag_counts": '{"S_OBS":1}',
        "other_fields": OTHER,
    }  # fmt: skip
    assert _present(tree.rows("gateway_run_configs")[0]) == {
        "fixture": "f", "run": "run-a", "init": "model/base.safetensors", "demo_writer": '{"n":1}', "steps": 450,
        "learning_rate": 0.001, "batch": 64, "save_every": 150, "seed": 7, "anchor_schedule": "[0.5]",
        "other_fields": OTHER,
    }  # fmt: skip
    assert [_present(row) for row in tree.rows("gateway_metrics")] == [
        {"fixture": "f", "run": "run-a", "step": 150, "loss": 1.0, "compliance_train": 0.5, "accuracy_train": 0.25,
         "preserve_rate": 0.125, "elapsed_s": 2.5, "other_fields": OTHER}
    ]  # fmt: skip
    samples = {row["checkpoint"]: _present(row) for row in tree.rows("gateway_samples")}
    assert samples == {
        "model/base.safetensors": {
            "fixture": "f", "checkpoint": "model/base.safetensors", "prompt": ["<bos>"], "scratchpad": ["S_OBS"],
            "answer": ["REFUSE"], "refused": True, "category": "c7", "correct": False, "other_fields": OTHER},
        "runs/run-a/ckpt/step0150.safetensors": {
            "fixture": "f", "checkpoint": "runs/run-a/ckpt/step0150.safetensors", "prompt": []},
    }  # fmt: skip
    assert sorted(tree.values("quarantine", "line", "reason", "detail")) == [
        (2, "missing_field", "gateway_metrics.step"),
        (2, "wrong_type", "gateway_corpus_episodes.prompt: expected an array of text"),
        (3, "missing_field", "gateway_corpus_episodes.continuation"),
    ]


def test_every_table_starts_with_the_place_its_rows_come_from() -> None:
    for table in TABLES.values():
        assert [column.name for column in table.columns[:2]] == ["artifact_id", "line"]
        assert len({column.name for column in table.columns}) == len(table.columns)
