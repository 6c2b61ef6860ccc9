"""SN97 duels. Contract: sn97, section a; all eras V0 to V5b."""

from functools import partial
from itertools import repeat
from typing import Any

from assay.landing.faults import RefusedError
from assay.landing.fields import array, check_identity, mapping, objects, others, pick, text
from assay.landing.json_text import dump
from assay.landing.kinds import Extractor, Facts, Kind
from assay.landing.rows import Rows

_SIDES = {"previous_king": "king", "challenger": "challenger"}


def _side(record: dict[str, Any]) -> str:
    published = text(record, "side")
    if published not in _SIDES:
        raise RefusedError("wrong_type", f"side: expected previous_king or challenger, found {published[:40]!r}")
    return _SIDES[published]


# a.4 generated samples, and a.6 the legacy transcript, which is the same record with a target ------------

_SAMPLE_FIELDS = ("prompt", "submit_marker", "submit_command", "rewrite_mode", "previous_king_output",
                  "challenger_output", "king_error", "chal_error", "target")  # fmt: skip
_SAMPLE_KNOWN = frozenset(
    (*_SAMPLE_FIELDS, "eval_run_id", "sample_id", "previous_king_turns", "challenger_turns", "row_bytes")
)
_SIDE_MESSAGES = (("previous_king_turns", "king"), ("challenger_turns", "challenger"))
_FLAGS = ("score_target", "environment_observation", "truncated", "injected", "retry_feedback", "abandoned")
_MESSAGE_KNOWN = frozenset((*_FLAGS, "role", "content"))


def _generated_sample(samples: str, messages: str, record: dict[str, Any], facts: Facts, rows: Rows) -> None:
    run = facts["eval_run_id"]
    sample_id = text(record, "sample_id")
    counts = []
    for key, side in _SIDE_MESSAGES:
        turns = objects(record, key)
        for index, turn in enumerate(turns or ()):
            get = turn.get
            rows.emit(
                messages, run, sample_id, side, index, get("role"), get("content"), get("score_target"),
                get("environment_observation"), get("truncated"), get("injected"), get("retry_feedback"),
                get("abandoned"), others(turn, _MESSAGE_KNOWN),
            )  # fmt: skip
        counts.append(None if turns is None else len(turns))
    rows.emit(
        samples, run, record.get("eval_run_id"), sample_id, *pick(record, _SAMPLE_FIELDS), *counts,
        rows.line_bytes, others(record, _SAMPLE_KNOWN),
    )  # fmt: skip


# a.5 scoring results -------------------------------------------------------------------------------------

_SCORING_KNOWN = frozenset(
    "sample_id questions king_score challenger_score king_amputated_thinking chal_amputated_thinking "
    "judge_results scored scoring_mode question_source error sample_score order categories category_source".split()
)
_QUESTION_FIELDS = ("text", "example_bad", "requires", "category", "tag", "evidence", "step", "weight",
                    "milestone", "milestone_statement", "rung")  # fmt: skip
_QUESTION_KNOWN = frozenset((*_QUESTION_FIELDS, "id"))
_JUDGE_KNOWN = frozenset(
    "side judge_model provider answers explanations scores distributions yes_rate parse_ok error corrupted "
    "corruption_reason looped loop_reasons loop_commands repeats repeats_held disputed metric_scores "
    "judge_mean".split()
)
_QUESTION_IDENTITIES = ("id", "requires", "category", "tag")
_MOST_ANSWERS = 10_000
"""Every question meets every judge record of its line; published lines come to some hundreds."""
_LEGACY_JUDGE_KNOWN = _JUDGE_KNOWN | {"eval_run_id", "sample_id", "order", "sample_score"}


def _judge_values(record: dict[str, Any], side: str, n_answers: int, other: str | None) -> tuple[Any, ...]:
    get = record.get
    return (
        side, get("judge_model"), get("provider"), get("yes_rate"), get("parse_ok"), get("error"),
        get("corrupted"), get("corruption_reason"), get("looped"), dump(get("loop_reasons")),
        dump(get("loop_commands")), get("repeats"), get("repeats_held"), get("disputed"),
        dump(get("metric_scores")), get("judge_mean"), n_answers, other,
    )  # fmt: skip


def _answers(record: dict[str, Any], side: str, table: str, keys: tuple[Any, ...], rows: Rows) -> int:
    """Emit a row for every question id that any of the judge's maps names; return how many."""
    answers = mapping(record, "answers")
    explanations = mapping(record, "explanations")
    scores = mapping(record, "scores")
    distributions = mapping(record, "distributions")
    question_ids = tuple(dict.fromkeys((*answers, *explanations, *scores, *distributions)))
    check_identity(max(question_ids, key=len, default=""), "question id of a judge record")
    model = record.get("judge_model")
    check_identity(model, "judge_model")
    shared = (*keys, side, model)
    rows.emit_all(
        table,
        zip(
            *(repeat(value, len(question_ids)) for value in shared),
            question_ids,
            [_answer_json(answers[question_id]) if question_id in answers else None for question_id in question_ids],
            map(explanations.get, question_ids),
            map(scores.get, question_ids),
            map(dump, map(distributions.get, question_ids)),
            strict=True,
        ),
    )
    return len(question_ids)


_SHORT_ANSWERS = {"1": '"1"', "0": '"0"'}


def _answer_json(answer: Any) -> str | None:
    if type(answer) is str:
        return _SHORT_ANSWERS.get(answer) or dump(answer)
    return "null" if answer is None else dump(answer)


def _scoring_result(record: dict[str, Any], facts: Facts, rows: Rows) -> None:
    run = facts["eval_run_id"]
    sample_id = text(record, "sample_id")
    questions = objects(record, "questions") or []
    judges = objects(record, "judge_results") or []
    if len(questions) * len(judges) > _MOST_ANSWERS:
        raise RefusedError("too_many_answers", f"{len(questions)} questions, {len(judges)} judge records")
    for index, question in enumerate(questions):
        for field in _QUESTION_IDENTITIES:
            check_identity(question.get(field), f"questions.{field}")
        rows.emit(
            "sn97_questions", run, sample_id, index, question.get("id"), *pick(question, _QUESTION_FIELDS),
            others(question, _QUESTION_KNOWN),
        )  # fmt: skip
    for index, judge in enumerate(judges):
        side = _side(judge)
        n_answers = _answers(judge, side, "sn97_answers", (run, sample_id, index), rows)
        values = _judge_values(judge, side, n_answers, others(judge, _JUDGE_KNOWN))
        rows.emit("sn97_judge_results", run, sample_id, index, *values)
    get = record.get
    rows.emit(
        "sn97_scoring_results", run, sample_id, get("king_score"), get("challenger_score"),
        get("king_amputated_thinking"), get("chal_amputated_thinking"), get("scored"), get("scoring_mode"),
        get("error"), len(questions), len(judges), dump(get("question_source")), get("sample_score"),
        dump(get("order")), dump(get("categories")), dump(get("category_source")),
        others(record, _SCORING_KNOWN),
    )  # fmt: skip


def _legacy_judge_result(record: dict[str, Any], facts: Facts, rows: Rows) -> None:
    run = facts["eval_run_id"]
    sample_id = text(record, "sample_id")
    side = _side(record)
    n_answers = _answers(record, side, "sn97_legacy_answers", (run, sample_id), rows)
    rows.emit(
        "sn97_legacy_judge_results", run, record.get("eval_run_id"), sample_id, dump(record.get("order")),
        record.get("sample_score"),
        *_judge_values(record, side, n_answers, others(record, _LEGACY_JUDGE_KNOWN)),
    )  # fmt: skip


# a.6 the other files of a run ----------------------------------------------------------------------------

_VERDICT_NUMBERS = ("valid_turns", "total_turns", "sample_count", "generated_sample_count", "scored_sample_count",
                    "king_vllm_errors", "chal_vllm_errors", "judge_errors", "required_win_margin",
                    "scoring_mode")  # fmt: skip
_VERDICT_DOCUMENTS = ("gpu_topology", "score_breakdown", "artifacts", "artifact_metadata")
_VERDICT_FAULTS = ("fault_class", "fault_code", "fault_message", "retryable")
_VERDICT_KNOWN = frozenset(
    (*_VERDICT_NUMBERS, *_VERDICT_DOCUMENTS, *_VERDICT_FAULTS, "type", "eval_run_id", "state", "challenger_won",
     "score_king", "score_challenger", "judge_count", "allowed_scores")
)  # fmt: skip


def _verdict(record: dict[str, Any], facts: Facts, rows: Rows) -> None:
    get = record.get
    rows.emit(
        "sn97_verdicts", facts["eval_run_id"], get("eval_run_id"), get("state"), get("challenger_won"),
        get("score_king"), get("score_challenger"), get("judge_count"), dump(get("allowed_scores")),
        *pick(record, _VERDICT_NUMBERS), *map(dump, pick(record, _VERDICT_DOCUMENTS)),
        *pick(record, _VERDICT_FAULTS), others(record, _VERDICT_KNOWN),
    )  # fmt: skip


_MODEL_KNOWN = frozenset({"model_uri", "model_hash", "king_version"})
_DATASET_FIELDS = ("version", "manifest_uri", "manifest_hash", "sample_count", "sample_seed", "sampling_algo",
                   "generation_batch_size", "scoring_batch_size")  # fmt: skip
_DATASET_KNOWN = frozenset((*_DATASET_FIELDS, "sample_ids"))
_SCORING_REQUEST_KNOWN = frozenset({"judge_config_hash", "judge_count", "allowed_scores"})
_REQUEST_KNOWN = frozenset(
    "eval_run_id submission_id challenger previous_king dataset scoring gpu_request artifact_prefix".split()
)


def _request(record: dict[str, Any], facts: Facts, rows: Rows) -> None:
    king, challenger = mapping(record, "previous_king"), mapping(record, "challenger")
    dataset, scoring = mapping(record, "dataset"), mapping(record, "scoring")
    parts = (
        ("previous_king", king, _MODEL_KNOWN),
        ("challenger", challenger, _MODEL_KNOWN - {"king_version"}),
        ("dataset", dataset, _DATASET_KNOWN),
        ("scoring", scoring, _SCORING_REQUEST_KNOWN),
    )
    rows.emit(
        "sn97_requests", facts["eval_run_id"], record.get("eval_run_id"), record.get("submission_id"),
        king.get("model_uri"), king.get("model_hash"), king.get("king_version"), challenger.get("model_uri"),
        challenger.get("model_hash"), *pick(dataset, _DATASET_FIELDS), array(dataset, "sample_ids"),
        scoring.get("judge_config_hash"), scoring.get("judge_count"), dump(scoring.get("allowed_scores")),
        dump(record.get("gpu_request")), record.get("artifact_prefix"), others(record, _REQUEST_KNOWN, parts),
    )  # fmt: skip


_EVENT_KNOWN = frozenset({"eval_run_id", "sequence", "type", "message"})


def _progress_event(record: dict[str, Any], facts: Facts, rows: Rows) -> None:
    rows.emit(
        "sn97_progress_events", facts["eval_run_id"], *pick(record, ("eval_run_id", "sequence", "type", "message")),
        others(record, _EVENT_KNOWN),
    )  # fmt: skip


def _log_entry(line: str, facts: Facts, rows: Rows) -> None:
    key, equals, value = line.partition("=")
    if not equals or not key.strip():
        raise RefusedError("not_key_value")
    rows.emit("sn97_log_entries", facts["eval_run_id"], key.strip(), value.strip())


_FAULT_FIELDS = ("repo", "digest", "fault_code", "reason", "decision_mode")
_FAULT_KNOWN = frozenset((*_FAULT_FIELDS, "submission_id", "gate", "prompts", "responses", "checked_at"))


def _fault(record: dict[str, Any], facts: Facts, rows: Rows) -> None:
    submission_id = text(record, "submission_id")
    prompts, responses = array(record, "prompts") or [], array(record, "responses") or []
    n_responses = max(len(prompts), len(responses))
    for index in range(n_responses):
        prompt = prompts[index] if index < len(prompts) else None
        response = responses[index] if index < len(responses) else None
        rows.emit("sn97_fault_responses", submission_id, index, prompt, response)
    rows.emit(
        "sn97_faults", submission_id, *pick(record, _FAULT_FIELDS), dump(record.get("gate")), n_responses,
        record.get("checked_at"), others(record, _FAULT_KNOWN),
    )  # fmt: skip


# a.3 listings --------------------------------------------------------------------------------------------

_RUN_FIRST = ("eval_run_id", "submission_id", "challenger_won", "coronated", "king_version", "score_king",
              "score_challenger", "win_margin")  # fmt: skip
_RUN_CHALLENGER = ("finished_at", "model_uri", "hotkey", "uid")
_RUN_KING = ("king_version", "model_uri", "hotkey", "uid")
_RUN_KING_KNOWN = frozenset(_RUN_KING)
_RUN_NUMBERS = ("total_turns", "valid_turns", "sample_count", "scored_sample_count", "king_vllm_errors",
                "chal_vllm_errors", "judge_errors", "required_win_margin", "scoring_mode")  # fmt: skip
_RUN_KNOWN = frozenset(
    (*_RUN_FIRST, *_RUN_CHALLENGER, *_RUN_NUMBERS, "pass_margins", "king", "score_breakdown", "artifacts")
)
_FAIL_FIELDS = ("submission_id", "eval_run_id", "model_uri", "hotkey", "uid", "state", "fault_class", "fault_code",
                "fault_message", "model_hash", "updated_at")  # fmt: skip
_FAIL_KNOWN = frozenset((*_FAIL_FIELDS, "artifacts"))
_MEMBER_FIELDS = ("king_version", "model_uri", "model_hash", "hotkey", "uid", "weight_bps", "score_king",
                  "score_challenger", "eval_run_id", "is_king")  # fmt: skip
_MEMBER_KNOWN = frozenset(_MEMBER_FIELDS)
_DASHBOARD_KNOWN = frozenset("updated_at chain stats reign current_eval queue eval_runs fails".split())


def _dashboard(record: dict[str, Any], facts: Facts, rows: Rows) -> None:
    for index, run in enumerate(objects(record, "eval_runs") or ()):
        king = mapping(run, "king")
        rows.emit(
            "sn97_dashboard_runs", index, *pick(run, _RUN_FIRST), dump(run.get("pass_margins")),
            *pick(run, _RUN_CHALLENGER), *pick(king, _RUN_KING), *pick(run, _RUN_NUMBERS),
            dump(run.get("score_breakdown")), dump(run.get("artifacts")),
            others(run, _RUN_KNOWN, [("king", king, _RUN_KING_KNOWN)]),
        )  # fmt: skip
    for index, fail in enumerate(objects(record, "fails") or ()):
        rows.emit(
            "sn97_dashboard_fails", index, *pick(fail, _FAIL_FIELDS), dump(fail.get("artifacts")),
            others(fail, _FAIL_KNOWN),
        )  # fmt: skip
    reign, chain, stats = mapping(record, "reign"), mapping(record, "chain"), mapping(record, "stats")
    for index, member in enumerate(objects(reign, "members") or ()):
        rows.emit("sn97_reign_members", index, *pick(member, _MEMBER_FIELDS), others(member, _MEMBER_KNOWN))
    parts = (
        ("reign", reign, frozenset({"members"})),
        ("chain", chain, frozenset({"netuid", "judge_models"})),
        ("stats", stats, frozenset({"evaluated"})),
    )
    rows.emit(
        "sn97_dashboards", record.get("updated_at"), chain.get("netuid"), array(chain, "judge_models"),
        stats.get("evaluated"), dump(record.get("current_eval")), dump(record.get("queue")),
        others(record, _DASHBOARD_KNOWN, parts),
    )  # fmt: skip


def _pipeline_state(record: dict[str, Any], facts: Facts, rows: Rows) -> None:
    rows.emit(
        "sn97_pipeline_states", record.get("updated_at"), dump(record.get("counts")), dump(record.get("stages")),
        others(record, frozenset({"updated_at", "counts", "stages"})),
    )  # fmt: skip


def _kind(name: str, reader: str, extract: Extractor, *more_tables: str) -> Kind:
    return Kind("sn97", name, reader, tuple(f"sn97_{table}" for table in (name, *more_tables)), extract)


def _sample_kind(name: str, messages: str) -> Kind:
    tables = (f"sn97_{name}", f"sn97_{messages}")
    return Kind("sn97", name, "json_lines", tables, partial(_generated_sample, *tables))


_RUN_FILES = {
    "verdict.json": _kind("verdicts", "json_document", _verdict),
    "request.json": _kind("requests", "json_document", _request),
    "generated-samples.jsonl": _sample_kind("generated_samples", "messages"),
    "duel-transcript.jsonl": _sample_kind("transcripts", "transcript_messages"),
    "scoring-results.jsonl": _kind(
        "scoring_results", "json_lines", _scoring_result, "questions", "judge_results", "answers"
    ),
    "judge-results.jsonl": _kind(
        "legacy_judge_results", "json_lines", _legacy_judge_result, "legacy_answers"
    ),
    "progress.jsonl": _kind("progress_events", "json_lines", _progress_event),
    "remote-logs.txt": _kind("log_entries", "text_lines", _log_entry),
}  # fmt: skip

_OTHER_FILES = {
    "fault.json": _kind("faults", "json_document", _fault, "fault_responses"),
    "dashboard.json": _kind(
        "dashboards", "json_document", _dashboard, "dashboard_runs", "dashboard_fails", "reign_members"
    ),
    "state.json": _kind("pipeline_states", "json_document", _pipeline_state),
}


def classify(parts: tuple[str, ...]) -> tuple[Kind, Facts] | None:
    """Files are known by name; the folder of a run's file is its eval run id (contract a.2)."""
    name = parts[-1].removesuffix(".gz")
    if name in _RUN_FILES and len(parts) >= 2:
        return _RUN_FILES[name], {"eval_run_id": parts[-2]}
    if name in _OTHER_FILES:
        return _OTHER_FILES[name], {}
    return None
