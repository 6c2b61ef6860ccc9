"""Question weights, yes rates, side scores and the verdict of a run (contract sn97 b.5)."""

import contextlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import mean
from typing import Any, Literal

from assay.validator.documents import candidate_blocks_loose

Ruleset = Literal["v1", "v2", "v3", "v4", "v5a", "v5b"]

REQUIRES_WEIGHTS_V1 = {"action": 2.0, "read": 0.75, "neutral": 0.25}
SIZE_FACTOR_FLOOR_V1 = 0.6
WIN_MARGIN_V1 = 0.03
WIN_MARGIN = 0.025
TAG_WEIGHTS_V4 = {
    "reference:explore": 2.0,
    "reference:action": 2.0,
    "reference:claims": 1.5,
    "reference:economy": 1.0,
    "reference:grounding": 0.5,
    "reference:verification": 0.5,
    "behavior:anchored_edit": 0.25,
}
TAG_WEIGHTS_V5B = dict.fromkeys(
    ("reference:explore", "reference:action", "reference:claims", "reference:verification"), 1.0
)
OTHER_REFERENCE_WEIGHT = 0.5
AMPUTATED_MULTIPLIER = 0.5
GRADED_ANCHORS = (("A", 0.0), ("E", 0.15), ("J", 0.35), ("O", 0.70), ("T", 1.0))

# A judge's reply is tried as JSON from every bracket on; this many characters of failed tries are allowed.
JSON_EFFORT = 2_000_000

_BITS = {"1": 1.0, "0": 0.0}
# A bracket that can begin a JSON value, and every one of them where several stand in a row.
_JSON_BEGIN = re.compile(r"""(?<!`)(?:\[|\{(?=\s*["}]))""")


def tag_weight(tag: str, table: Mapping[str, float]) -> float:
    """Return the weight of a tag by a table; another `reference:` tag weighs 0.5 and anything else nothing."""
    return table.get(tag, OTHER_REFERENCE_WEIGHT if tag.startswith("reference:") else 0.0)


def question_weight(question: Mapping[str, Any], ruleset: Ruleset) -> float:
    """Return what a question counts under a ruleset.

    V1 weighs by `requires` (a `size` question is a factor and weighs 0 in the mean), V2 and V3 count all
    alike, V4 weighs by `tag`. From V5a on a stamped `weight` wins over the table.
    """
    if ruleset == "v1":
        if question.get("category") == "size":
            return 0.0
        return REQUIRES_WEIGHTS_V1.get(str(question.get("requires", "neutral")), 1.0)
    if ruleset in ("v2", "v3"):
        return 1.0
    stamped = question.get("weight")
    if ruleset != "v4" and isinstance(stamped, int | float) and not isinstance(stamped, bool):
        return float(stamped)
    return tag_weight(str(question.get("tag") or ""), TAG_WEIGHTS_V5B if ruleset == "v5b" else TAG_WEIGHTS_V4)


def answer_value(answer: object, ruleset: Ruleset) -> float | None:
    """Return the value of one answer in 0..1, or null when it counts as unanswered.

    Before V5b that is the bit of the strings "1" and "0" alone; in V5b the number of `scores`.
    """
    if ruleset == "v5b":
        return float(answer) if isinstance(answer, int | float) and not isinstance(answer, bool) else None
    return _BITS.get(answer) if isinstance(answer, str) else None


def graded_letter_value(letter: str) -> float:
    """Return the value of a letter A to T of the graded mode, linear between its anchors. Raises ValueError."""
    for (low, low_value), (high, high_value) in pairwise(GRADED_ANCHORS):
        if len(letter) == 1 and low <= letter <= high:
            share = (ord(letter) - ord(low)) / (ord(high) - ord(low))
            return low_value + share * (high_value - low_value)
    raise ValueError("a graded answer is a letter from A to T")


def _yes_rate_v1(values: Mapping[str, float], questions: Sequence[Mapping[str, Any]]) -> float | None:
    size_ids = {question.get("id") for question in questions if question.get("category") == "size"}
    weights = {question.get("id"): question_weight(question, "v1") for question in questions}
    numerator = denominator = size_yes = size_count = 0.0
    for question_id, value in values.items():
        if question_id in size_ids:
            size_yes += value
            size_count += 1
            continue
        weight = weights.get(question_id, 1.0)
        numerator += weight * value
        denominator += weight
    if not denominator:
        return None
    rate = numerator / denominator
    if size_count:
        rate *= SIZE_FACTOR_FLOOR_V1 + (1 - SIZE_FACTOR_FLOOR_V1) * (size_yes / size_count)
    return round(rate, 6)


def judge_yes_rate(
    answers: Mapping[str, object], questions: Sequence[Mapping[str, Any]] | None, ruleset: Ruleset
) -> float | None:
    """Return the weighted yes rate of one judge, rounded to 6 places, or null when nothing was answered.

    Without questions, or when all answered ones weigh nothing, it is the plain mean of what was answered;
    in V1 the latter gives null. An answer to a question that is not listed weighs nothing (1 in V1).
    """
    values: dict[str, float] = {}
    for question_id, answer in answers.items():
        value = answer_value(answer, ruleset)
        if value is not None:
            values[question_id] = value
    if questions and ruleset == "v1":
        return _yes_rate_v1(values, questions)
    if questions and ruleset not in ("v2", "v3"):
        weights = {question.get("id"): question_weight(question, ruleset) for question in questions}
        numerator = sum(weights.get(question_id, 0.0) * value for question_id, value in values.items())
        denominator = sum(weights.get(question_id, 0.0) for question_id in values)
        if denominator:
            return round(numerator / denominator, 6)
    return round(mean(values.values()), 6) if values else None


def response_score(
    answers_by_judge: Mapping[str, Mapping[str, object]],
    questions: Sequence[Mapping[str, Any]] | None,
    ruleset: Ruleset,
) -> float | None:
    """Return the score of a side: the mean of the judges' rates that are not null, rounded to 6 places."""
    rates = [judge_yes_rate(answers, questions, ruleset) for answers in answers_by_judge.values()]
    known = [rate for rate in rates if rate is not None]
    return round(mean(known), 6) if known else None


def mostly_starts_with_close(texts: Sequence[str], share_limit: float = 0.5) -> bool:
    """Say whether more than `share_limit` of the texts start, after white space, with a closing think tag."""
    if not texts:
        return False
    return sum(text.lstrip().startswith("</think>") for text in texts) / len(texts) > share_limit


def amputated_thinking(document: str | None, share_limit: float = 0.5) -> bool:
    """Say whether a judged document shows amputated thinking: its loose blocks mostly start with a closing
    tag.
    """
    return mostly_starts_with_close(candidate_blocks_loose(document), share_limit)


def halved_when_amputated(
    score: float | None, amputated: bool, multiplier: float = AMPUTATED_MULTIPLIER
) -> float | None:
    """Return the score of a side after the amputation penalty of V4, rounded to 6 places."""
    return round(score * multiplier, 6) if amputated and score is not None else score


def challenger_beats_king(challenger: float, king: float, margin: float = WIN_MARGIN) -> bool:
    """Say whether the challenger wins: the difference in binary floating point reaches the margin."""
    return challenger - king >= margin


@dataclass(frozen=True)
class RunScore:
    """The aggregate of a run; scores and winner are null and the fault is set when too few samples were
    scored.
    """

    state: Literal["succeeded", "failed"]
    score_challenger: float | None
    score_king: float | None
    challenger_won: bool | None
    scored_sample_count: int
    total_samples: int
    judge_errors: int
    by_judge: Mapping[str, float] | None
    required_win_margin: float | None
    fault_class: str | None
    fault_code: str | None
    fault_message: str | None
    retryable: bool | None


def aggregate_scores(
    records: Sequence[Mapping[str, Any]],
    minimum_valid_fraction: float = 0.8,
    margin: float = WIN_MARGIN,
    total: int | None = None,
) -> RunScore:
    """Return the aggregate of scoring records (lines of `scoring-results.jsonl`).

    Only records with `scored` enter the means; the run fails when there is no record or their share is below
    `minimum_valid_fraction`. `total` replaces the number of records (V5b).
    """
    samples = total or len(records)
    scored = [record for record in records if record.get("scored")]
    errors = sum(1 for record in records for result in record.get("judge_results") or () if not result.get("parse_ok"))
    if samples == 0 or len(scored) / samples < minimum_valid_fraction:
        message = f"Only {len(scored)}/{samples} samples valid (< {minimum_valid_fraction:.0%})"
        return RunScore(
            state="failed",
            score_challenger=None,
            score_king=None,
            challenger_won=None,
            scored_sample_count=len(scored),
            total_samples=samples,
            judge_errors=errors,
            by_judge=None,
            required_win_margin=None,
            fault_class="PROVIDER_FAULT",
            fault_code="scoring_invalid",
            fault_message=message,
            retryable=True,
        )
    challenger = round(mean(record["challenger_score"] for record in scored), 6)
    king = round(mean(record["king_score"] for record in scored), 6)
    parsed: set[str] = set()
    rates: dict[str, list[float]] = {}
    for record in scored:
        for result in record.get("judge_results") or ():
            if result.get("side") != "challenger":
                continue
            model = result["judge_model"]
            if result.get("parse_ok"):
                parsed.add(model)
            if result.get("yes_rate") is not None:
                rates.setdefault(model, []).append(float(result["yes_rate"]))
    return RunScore(
        state="succeeded",
        score_challenger=challenger,
        score_king=king,
        challenger_won=challenger_beats_king(challenger, king, margin),
        scored_sample_count=len(scored),
        total_samples=samples,
        judge_errors=errors,
        by_judge={model: round(mean(rates[model]), 6) for model in sorted(parsed) if model in rates},
        required_win_margin=margin,
        fault_class=None,
        fault_code=None,
        fault_message=None,
        retryable=None,
    )


def extract_json(raw: str | None, preferred_key: str, effort: int = JSON_EFFORT) -> Any:
    """Find the JSON value in a judge's reply: in code fences first, then from every bracket on.

    The last object that has `preferred_key` wins, else the first value found, else null. A bracket right
    after a back-tick is not tried. Tries that fail may cost `effort` characters in all; what lies beyond is
    not tried.
    """
    text = raw or ""
    found: list[Any] = []

    def keep(value: Any) -> None:
        if isinstance(value, dict | list):
            found.append(value)

    position = 0
    while (begin := text.find("```", position)) >= 0 and (end := text.find("```", begin + 3)) >= 0:
        inside = text[begin + 3 : end]
        if inside[:4].lower() == "json":
            inside = inside[4:]
        with contextlib.suppress(ValueError, RecursionError):
            keep(json.loads(inside.strip()))
        position = end + 3
    decoder = json.JSONDecoder()
    for match in _JSON_BEGIN.finditer(text):
        index = match.start()
        try:
            value, end = decoder.raw_decode(text, index)
            keep(value)
        except json.JSONDecodeError as error:
            # Making this error counts the lines before it, which costs a part of the text as well.
            end = error.pos + error.pos // 16
        except (ValueError, RecursionError):
            end = index + 10_000
        effort -= end - index + 50
        if effort < 0:
            break
    keyed = [value for value in found if isinstance(value, dict) and preferred_key in value]
    if keyed:
        return keyed[-1]
    return found[0] if found else None


def parse_answers(raw: str | None, question_ids: Sequence[str]) -> tuple[dict[str, str | None], dict[str, str], bool]:
    """Return (answers, explanations, parse_ok) of a judge's reply to binary questions.

    Answers are "1", "0" or null, later items win, unknown ids are dropped; `parse_ok` says all were answered.
    """
    value = extract_json(raw, "answers")
    items = value.get("answers") if isinstance(value, dict) else value
    answers: dict[str, str | None] = dict.fromkeys(question_ids)
    explanations = dict.fromkeys(question_ids, "")
    for item in items if isinstance(items, list) else ():
        if not isinstance(item, dict):
            continue
        question_id = str(item.get("id", "")).strip()
        answer = str(item.get("answer", "")).strip().lower()
        if question_id in answers and answer in _BITS:
            answers[question_id] = answer
            explanations[question_id] = str(item.get("explanation", "")).strip()
    return answers, explanations, all(answer is not None for answer in answers.values())
