"""From the names and shapes of conformance vectors to the rules that a build runs, in Python or SQL.

An adapter takes the `input` of a vector and the limits of its line and gives the value that `expected`
speaks of; it never sees `expected` itself. `view` reduces the two to what is compared, where a vector says
more than the rule asks for.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from assay.chat_templates import ChatTemplate
from assay.conformance import in_sql
from assay.conformance.sql_models import SqlModels
from assay.validator import (
    corpus,
    documents,
    duels,
    edits,
    fences,
    loops,
    observations,
    prompts,
    repairs,
    rollouts,
    scores,
    sentinels,
    slices,
    submissions,
    tail_check,
)

Input = Mapping[str, Any]
Adapter = Callable[[Input, "Context"], Any]
View = Callable[[Any, Any], tuple[Any, Any]]


@dataclass(frozen=True)
class Context:
    """What an adapter may use beside its input: the limits that the vector's line states, and the project's SQL."""

    limits: Mapping[str, Any]
    sql: SqlModels


class NotWiredError(Exception):
    """A vector speaks of something that we recognise and leave alone; its text says what."""


@dataclass(frozen=True)
class Wiring:
    """One (function, version family) of the vectors and what answers it."""

    family: str
    adapter: Adapter
    view: View | None = None
    note: str = ""


# The start of a vector's version says whose rule it is.
ALBEDO_V1 = "tony-dendrite"
ALBEDO_V4 = "unarbos"
ALBEDO_V5 = "michael-bum"
ALBEDO_V5B = "michael-bum-f3d5453"
LOOP_V1 = "loop-v1"
LOOP_V2 = "loop-v2"
LOOP_V3 = "loop-v3"
AFFINE_AUGUST = "contract-2026-08"
AFFINE_SEPTEMBER = "contract-2026-09"
REASON_V3 = "reason-v3"
REASON_V4 = "reason-v4"
PROPOSED = "proposed-1"

RULESET_V1 = "v1_0722"
RULESET_V4 = "v4_0821"

NOT_NEEDED = frozenset(
    {
        "apply_measurement_gate",
        "check_code_present",
        "check_collapsed",
        "check_uniform_length",
        "empty_submit_count",
        "has_native_submission",
        "is_file_read",
        "is_measurement_bound_question",
        "keep_original_ids",
        "output_expectation",
        "repair_output",
        "rewrite_mode",
        "sample_phase",
        "stated_command",
        "strip_candidate_reasoning",
        "strip_leaked_reasoning",
        "turn_min_rg",
        "unread_edited_files",
    }
)

LOOP_STATISTICS = ("dup_cmd_ratio", "looped", "max_cmd_run", "n_cmds")


def _plain(function: Callable[..., Any], *keys: str, **fixed: Any) -> Adapter:
    return lambda given, _: function(*(given[key] for key in keys), **fixed)


def _loop_verdict(variant: loops.LoopVariant) -> Adapter:
    def adapt(given: Input, context: Context) -> Any:
        ratio, run = in_sql.PUBLISHED_LOOP_LIMITS[variant]
        stated = (context.limits.get("dup", ratio), context.limits.get("run", run))
        return in_sql.loop_verdict(context.sql, given["turns"], variant, stated, given.get("observations"))

    return adapt


def _loop_verdict_view(expected: Any, got: Any) -> tuple[Any, Any]:
    # A list too long to be written down stands as null. Reasons and explanations are texts that no table has.
    kept = {key: expected[key] for key in got}
    return kept, got | {"command_list": None} if expected["command_list"] is None else got


def _loop_statistics(given: Input, context: Context) -> Any:
    verdict = _loop_verdict("v3")(given, context)
    return {key: verdict[key] for key in ("command_list", *LOOP_STATISTICS)}


def _loop_document(variant: loops.LoopVariant) -> Adapter:
    def adapt(given: Input, context: Context) -> Any:
        verdict = in_sql.loop_verdict_of_document(context.sql, given["document"], variant)
        return {key: verdict[key] for key in LOOP_STATISTICS}

    return adapt


def _turns_with_observations(given: Input, _: Context) -> Any:
    turns, seen = documents.candidate_turns_with_observations(given["document"])
    return {"turns": turns, "observations": seen}


def _valid_output(given: Input, _: Context) -> Any:
    formats: tuple[observations.ObservationFormat, ...] = ("openhands", "returncode", "swe_agent")
    return {name: observations.valid_output(given["observation"], name) for name in formats}


def _sentinels(given: Input, _: Context) -> Any:
    return {
        "has_unclosed_think_block": sentinels.has_unclosed_think_block(given["text"]),
        "is_truncated": sentinels.is_truncated(given["text"]),
    }


def _constants_v1(_given: Input, context: Context) -> Any:
    return {
        "CHALLENGER_WIN_MARGIN": in_sql.required_margin(context.sql, RULESET_V1),
        "REQUIRES_WEIGHTS": {
            name: in_sql.question_weight(context.sql, {"requires": name}, "v1")
            for name in ("action", "read", "neutral")
        },
        "SIZE_FACTOR_FLOOR": context.sql.variable("size_factor_floor"),
    }


def _question_weight(table: str) -> Adapter:
    return lambda given, context: in_sql.question_weight(context.sql, given, table)


def _yes_rate(table: str) -> Adapter:
    return lambda given, context: in_sql.response_score(context.sql, [given["answers"]], given["questions"], table)


def _response_score(table: str) -> Adapter:
    return lambda given, context: in_sql.response_score(
        context.sql, list(given["per_judge_answers"].values()), given["questions"], table
    )


def _beats_king(ruleset: str) -> Adapter:
    return lambda given, context: in_sql.run_verdict(context.sql, [(given["challenger"], given["king"])], ruleset)[
        "challenger_won"
    ]


def _aggregate(given: Input, context: Context) -> Any:
    pairs = [
        (record["challenger_score"], record["king_score"]) if record.get("scored") else (None, None)
        for record in given["records"]
    ]
    fraction = given["min_valid_fraction"]
    stated = None if fraction == in_sql.PUBLISHED_VALID_FRACTION else fraction
    return in_sql.run_verdict(context.sql, pairs, RULESET_V4, stated)


def _of_got(expected: Any, got: Any) -> tuple[Any, Any]:
    return ({key: expected.get(key) for key in got} if isinstance(expected, Mapping) else expected), got


def _parse_answers(given: Input, _: Context) -> Any:
    answers, explanations, parse_ok = scores.parse_answers(given["raw"], given["question_ids"])
    return {"answers": answers, "explanations": explanations, "parse_ok": parse_ok}


def _check_one(given: Input, _: Context) -> Any:
    passed, reason = tail_check.check_one(given["text"])
    return {"passed": passed, "reason": reason}


def _check_one_view(expected: Any, got: Any) -> tuple[Any, Any]:
    return expected["passed"], got["passed"]


def _tail_check(given: Input, _: Context) -> Any:
    samples = [
        tail_check.TailSample(
            state["sample_id"], state["turns"], state.get("error") or "", state.get("heuristic_reason") or ""
        )
        for state in given["states"]
    ]
    question_ids = [f"t{number}" for number in range(1, given["n_tail_questions_stub"] + 1)]
    verdicts, reasons = tail_check.run_tail_check(samples, given["judge_raw"], question_ids)
    return {"heuristic_reason": reasons, "verdicts": [asdict(verdict) for verdict in verdicts]}


def _tail_check_view(expected: Any, got: Any) -> tuple[Any, Any]:
    def verdicts_of(value: Any) -> Any:
        kept = ("sample_id", "checked", "passed", "answers")
        return {
            "fails": [bool(reason) for reason in value["heuristic_reason"]],
            "verdicts": [{key: verdict[key] for key in kept} for verdict in value["verdicts"]],
        }

    return verdicts_of(expected), verdicts_of(got)


def _looping(given: Input, context: Context) -> Any:
    return in_sql.loop_verdict(context.sql, given["turns"], "v1")["looped"]


def _sample_id(takes_rollout: bool) -> Adapter:
    return lambda given, context: in_sql.sample_id_parts(context.sql, given["sample_id"], takes_rollout)


def _split(given: Input, _: Context) -> Any:
    thought, action = rollouts.split_rollout(given["text"])
    return {"z": thought, "y": action}


def _roundtrip(given: Input, _: Context) -> Any:
    action = rollouts.fenced(given["command"])
    completion = rollouts.completion_text(given["thought"], action, given["cue"])
    if completion != given["completion"]:
        return {"completion": completion}
    thought, got = rollouts.split_rollout(completion)
    same_thought, same_action = rollouts.roundtrips(given["thought"], action, given["cue"])
    return {
        "z": thought,
        "y": got,
        "z_equals_thought_plus_cue": same_thought,
        "y_equals_fenced_command": same_action,
    }


def _split_dialect(given: Input, _: Context) -> Any:
    if given["action_kind"] != "bash":
        raise NotWiredError(f"dialect {given['action_kind']} kept apart")
    thought, action = rollouts.split_rollout(given["text"], given["require_think_close"])
    return {"z": thought, "y": action}


def _prompt(given: Input) -> str:
    return prompts.open_think(
        ChatTemplate(given["chat_template"]).render(given["messages"], add_generation_prompt=True)
    )


def _generation_prompt(given: Input, _: Context) -> Any:
    return _prompt(given)


def _inject_prompt(given: Input, _: Context) -> Any:
    return prompts.inject_thought(_prompt(given), given["thoughts"])


def _force_text(given: Input, _: Context) -> Any:
    return prompts.force_text(_prompt(given), given["thoughts"], given["action"])


def _log_probability(given: Input, _: Context) -> Any:
    keys = ("full_text", "action", "offset_mapping", "token_logprobs")
    return asdict(prompts.action_log_probability(*(given[key] for key in keys)))


def _duel(given: Input, context: Context) -> Any:
    return in_sql.teacher_duel(context.sql, given["challenger_rows"], given["king_rows"], given)


def _duel_view(expected: Any, got: Any) -> tuple[Any, Any]:
    kept = {key: None if value == "Infinity" else value for key, value in expected.items() if key in got}
    too_short, not_causal = expected.get("thought_floor_blocked"), expected.get("causality_blocked")
    kept["rejection_reason"] = "thought_too_short" if too_short else "causality_fail" if not_causal else None
    return kept, got


def _sample_slice(given: Input, _: Context) -> Any:
    turn_ids = [row["turn_id"] for row in slices.sample_slice(given["rows"], given["n"], given["seed"])]
    return {"turn_ids": turn_ids, "digest": slices.slice_digest(turn_ids)}


def _repair(given: Input, _: Context) -> Any:
    return asdict(repairs.repair_reference(given["z"], given["y"]))


_VERDICTS_ONLY = "verdicts compared, reason texts not"

WIRINGS: Mapping[str, tuple[Wiring, ...]] = {
    # documents
    "format_scored_trajectory": (
        Wiring(ALBEDO_V4, _plain(documents.format_scored_trajectory, "turns", variant="v4")),
        Wiring(ALBEDO_V5, _plain(documents.format_scored_trajectory, "turns", variant="v5a")),
    ),
    "candidate_turns": (Wiring(ALBEDO_V4, _plain(documents.candidate_turns, "document")),),
    "candidate_blocks_loose": (Wiring(ALBEDO_V4, _plain(documents.candidate_blocks_loose, "document")),),
    "candidate_turns_with_observations": (Wiring(ALBEDO_V5, _turns_with_observations),),
    # observations
    "classify": (Wiring(ALBEDO_V4, _plain(observations.classify, "observation")),),
    "detect_format": (Wiring(ALBEDO_V4, _plain(observations.detect_format, "sample_id", "messages")),),
    "valid_output": (Wiring(ALBEDO_V4, _valid_output),),
    "observation_body": (
        Wiring(ALBEDO_V4, _plain(observations.observation_body, "observation", "fmt", variant="v4")),
        Wiring(ALBEDO_V5, _plain(observations.observation_body, "observation", "fmt", variant="v5a")),
    ),
    "has_content": (
        Wiring(ALBEDO_V4, _plain(observations.has_content, "observation", "fmt", variant="v4")),
        Wiring(ALBEDO_V5, _plain(observations.has_content, "observation", "fmt", variant="v5a")),
    ),
    "is_scaffold_truncated": (Wiring(ALBEDO_V4, _plain(observations.is_scaffold_truncated, "observation")),),
    "silent_observation": (Wiring(ALBEDO_V5, _plain(observations.silent_observation, "observation")),),
    "wrap": (Wiring(ALBEDO_V4, _plain(observations.wrap, "body", "fmt", "returncode")),),
    "sentinels": (Wiring(ALBEDO_V4, _sentinels),),
    "unclosed_think_block_notice": (Wiring(ALBEDO_V4, _plain(sentinels.unclosed_think_block_notice)),),
    "sanity_strip_thinking": (Wiring(ALBEDO_V4, _plain(sentinels.strip_thinking_for_preeval, "text")),),
    "first_bash_block": (Wiring(ALBEDO_V4, _plain(fences.first_bash_block, "assistant_output")),),
    # loops
    "loop_verdict": (
        Wiring(LOOP_V1, _loop_verdict("v1"), _loop_verdict_view),
        Wiring(LOOP_V2, _loop_verdict("v2"), _loop_verdict_view),
        Wiring(LOOP_V3, _loop_verdict("v3"), _loop_verdict_view),
    ),
    "loop_stats_with_observations": (Wiring(LOOP_V3, _loop_statistics),),
    "loop_verdict_for_document": (
        Wiring(LOOP_V1, _loop_document("v1")),
        Wiring(LOOP_V2, _loop_document("v2")),
        Wiring(LOOP_V3, _loop_document("v3")),
    ),
    "unanswered": (Wiring(LOOP_V3, _plain(observations.unanswered, "command", "observation")),),
    "looping_reason": (Wiring(ALBEDO_V4, _looping, lambda expected, got: (bool(expected), got), _VERDICTS_ONLY),),
    # submissions
    "is_exact_submission": (
        Wiring(ALBEDO_V4, _plain(submissions.is_exact_submission, "text", "command", variant="v4")),
        Wiring(ALBEDO_V5, _plain(submissions.is_exact_submission, "text", "command", variant="v5a")),
    ),
    "first_bash_command": (
        Wiring(ALBEDO_V4, _plain(submissions.first_bash_command, "text", variant="v4")),
        Wiring(ALBEDO_V5, _plain(submissions.first_bash_command, "text", variant="v5a")),
    ),
    "any_marker": (Wiring(ALBEDO_V4, _plain(submissions.any_marker, "text")),),
    "assign_submit": (Wiring(ALBEDO_V4, _plain(submissions.assign_submit, "sample_id", "salt")),),
    "marker_for_nonce": (Wiring(ALBEDO_V4, _plain(submissions.marker_for_nonce, "sample_id", "salt")),),
    "command_for": (Wiring(ALBEDO_V4, _plain(submissions.command_for, "marker", "tail")),),
    "marker_from": (Wiring(ALBEDO_V4, _plain(submissions.marker_from, "command")),),
    "parse_sample_id": (
        Wiring(ALBEDO_V4, _sample_id(takes_rollout=False)),
        Wiring(ALBEDO_V5, _sample_id(takes_rollout=True)),
    ),
    # scores
    "question_weight": (
        Wiring(ALBEDO_V1, _question_weight("v1")),
        Wiring(ALBEDO_V4, _question_weight("v4")),
        Wiring(ALBEDO_V5B, _question_weight("v5b")),
    ),
    "judge_yes_rate": (
        Wiring(ALBEDO_V1, _yes_rate("v1")),
        Wiring(ALBEDO_V4, _yes_rate("v4")),
    ),
    "response_score": (
        Wiring(ALBEDO_V1, _response_score("v1")),
        Wiring(ALBEDO_V4, _response_score("v4")),
    ),
    "graded_letter_value": (
        Wiring(ALBEDO_V5B, lambda given, context: in_sql.graded_letter_value(context.sql, given["letter"])),
    ),
    "aggregate_scores": (Wiring(ALBEDO_V4, _aggregate, _of_got),),
    "challenger_beats_king": (
        Wiring(ALBEDO_V1, _beats_king(RULESET_V1)),
        Wiring(ALBEDO_V4, _beats_king(RULESET_V4)),
    ),
    "amputated_thinking": (
        Wiring(ALBEDO_V4, lambda given, context: in_sql.amputated_thinking(context.sql, given["document"])),
    ),
    "reserved_token_leak": (Wiring(ALBEDO_V4, _plain(sentinels.reserved_token_leak, "document")),),
    "parse_answers": (Wiring(ALBEDO_V4, _parse_answers),),
    "edited_in_turn": (Wiring(ALBEDO_V4, _plain(edits.edited_in_turn, "text")),),
    "constants": (Wiring(ALBEDO_V1, _constants_v1),),
    # pre-eval gate
    "check_one": (Wiring(ALBEDO_V4, _check_one, _check_one_view, _VERDICTS_ONLY),),
    "run_tail_check": (Wiring(ALBEDO_V4, _tail_check, _tail_check_view, _VERDICTS_ONLY),),
    "chain_amputated_thinking": (Wiring(ALBEDO_V4, _plain(tail_check.chain_amputated_thinking, "turns")),),
    "malformed_structure": (Wiring(ALBEDO_V4, _plain(tail_check.malformed_structure, "turns")),),
    # rollouts
    "split_rollout": (Wiring(AFFINE_AUGUST, _split), Wiring(AFFINE_SEPTEMBER, _split_dialect)),
    "extract_action": (Wiring(AFFINE_AUGUST, _plain(rollouts.extract_action, "text")),),
    "roundtrip_completion": (Wiring(AFFINE_AUGUST, _roundtrip),),
    # prompts
    "gen_prompt": (Wiring(AFFINE_AUGUST, _generation_prompt),),
    "inject_prompt": (Wiring(AFFINE_AUGUST, _inject_prompt),),
    "force_text": (Wiring(AFFINE_AUGUST, _force_text),),
    "lp_per_byte": (Wiring(AFFINE_AUGUST, _log_probability),),
    # duels
    "reason": (
        Wiring(REASON_V3, lambda given, _: duels.reason(given)),
        Wiring(REASON_V4, lambda given, _: duels.reason(given)),
    ),
    "eta": (
        Wiring(REASON_V3, lambda given, _: duels.eta(given)),
        Wiring(REASON_V4, lambda given, _: duels.eta(given)),
    ),
    "leakage": (
        Wiring(REASON_V3, _plain(duels.leaks_action, "z", "y")),
        Wiring(REASON_V4, _plain(duels.leaks_action, "z", "y")),
    ),
    "turn_reason": (Wiring(REASON_V4, _plain(duels.turn_reason, "pairs", "tau")),),
    "duel": (Wiring(REASON_V3, _duel, _duel_view), Wiring(REASON_V4, _duel, _duel_view)),
    # slices and corpus
    "stratum_key": (Wiring(AFFINE_AUGUST, lambda given, _: slices.stratum_key(given)),),
    "phase_third": (Wiring(AFFINE_AUGUST, _plain(slices.phase_third, "assistant_idx", "n_assistant")),),
    "make_traj_id": (Wiring(AFFINE_AUGUST, _plain(slices.make_traj_id, "instance_id", "run_tag")),),
    "duel_seed": (Wiring(AFFINE_AUGUST, _plain(slices.duel_seed, "block_hash", "hotkey")),),
    "slice_digest": (Wiring(AFFINE_AUGUST, _plain(slices.slice_digest, "turn_ids")),),
    "sample_slice": (Wiring(AFFINE_AUGUST, _sample_slice),),
    "materialize_turn": (Wiring(AFFINE_AUGUST, _plain(corpus.materialize_turn, "traj", "turn_meta")),),
    "rebuild_trajectory": (Wiring(AFFINE_AUGUST, _plain(corpus.rebuild_trajectory, "turns")),),
    # proposals
    "first_token": (Wiring(PROPOSED, _plain(repairs.first_token, "command")),),
    "modal_norm": (Wiring(PROPOSED, _plain(repairs.normalised_command, "command")),),
    "repair": (Wiring(PROPOSED, _repair),),
}


def function_name(named: str) -> str:
    """Return the bare name of a function; vectors put remarks such as `(PROPOSED)` after it."""
    return named.partition(" (")[0]


def wiring_for(function: str, version: str) -> Wiring | None:
    """Return what answers a function of a version; the longest family that the version starts with wins."""
    fitting = [wiring for wiring in WIRINGS.get(function, ()) if version.startswith(wiring.family)]
    return max(fitting, key=lambda wiring: len(wiring.family), default=None)
