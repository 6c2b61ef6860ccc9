"""Verdicts of the pre-eval gate: response checks, chain checks and the tail check (contract sn97 b.6).

Only the verdicts follow the validator; the reasons are short names of our own unless said otherwise.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.validator.documents import scored_contents
from assay.validator.loops import looping_reason
from assay.validator.scores import extract_json, mostly_starts_with_close
from assay.validator.sentinels import has_unclosed_think_block, is_truncated, reserved_token_leak


@dataclass(frozen=True)
class ResponseLimits:
    """Limits of the checks on one response."""

    minimum_tokens: int = 5
    maximum_repetition: float = 0.85
    maximum_non_ascii: float = 0.6
    non_ascii_from_characters: int = 20
    minimum_vocabulary: float = 0.3
    vocabulary_from_tokens: int = 8


def check_one(text: str | None, limits: ResponseLimits = ResponseLimits()) -> tuple[bool, str]:
    """Return (passed, reason) of one response; the first failing check names the reason, a pass has none."""
    whole = text or ""
    if has_unclosed_think_block(whole):
        return False, "unclosed_think_block"
    if is_truncated(whole):
        return False, "token_limit"
    if not whole.strip():
        return False, "empty"
    tokens = whole.split()
    if len(tokens) < limits.minimum_tokens:
        return False, "too_short"
    if len(tokens) >= 3:
        trigrams = list(zip(tokens, tokens[1:], tokens[2:], strict=False))
        # The limit is written as a repetition and turned into a diversity in floating point, hence not 0.15
        # itself.
        if len(set(trigrams)) / len(trigrams) < 1.0 - limits.maximum_repetition:
            return False, "repetitive"
    if len(whole) > limits.non_ascii_from_characters:
        foreign = sum(1 for char in whole if ord(char) > 127)
        if foreign / len(whole) > limits.maximum_non_ascii:
            return False, "non_ascii"
    lowered = whole.lower().split()
    if len(lowered) >= limits.vocabulary_from_tokens and len(set(lowered)) / len(lowered) < limits.minimum_vocabulary:
        return False, "small_vocabulary"
    return True, ""


def chain_amputated_thinking(turns: Sequence[Mapping[str, Any]], share_limit: float = 0.5) -> bool:
    """Say whether more than `share_limit` of the scored turns start with a closing think tag."""
    return mostly_starts_with_close(scored_contents(turns), share_limit)


def malformed_structure(turns: Sequence[Mapping[str, Any]]) -> str:
    """Return the validator's own reason when a scored turn holds a reserved template token, else the empty
    string.
    """
    for content in scored_contents(turns):
        token = reserved_token_leak(content)
        if token:
            return f"reserved template token in output: {token}"
    return ""


@dataclass(frozen=True)
class TailLimits:
    """Limits of the tail check."""

    ratio_limit: float = 0.5
    run_limit: int = 4
    cutoff: int = 16
    failing_zeros: int = 3
    failing_samples: int = 2


@dataclass(frozen=True)
class TailSample:
    """One pre-eval sample: its turns and what earlier checks left on it."""

    sample_id: str
    turns: Sequence[Mapping[str, Any]]
    error: str = ""
    heuristic_reason: str = ""


@dataclass(frozen=True)
class TailVerdict:
    """What the tail check says of one sample; `checked` is false when it ended early, answers only when
    judged.
    """

    sample_id: str
    checked: bool
    passed: bool
    reason: str = ""
    answers: Mapping[str, int] | None = None


def parse_tail_answers(raw: str | None, question_ids: Sequence[str]) -> dict[str, int] | None:
    """Return the 1 or 0 answer to every question of the tail judge, or null unless all were answered."""
    value = extract_json(raw, "answers")
    items = value.get("answers") if isinstance(value, dict) else value
    answers: dict[str, int] = {}
    for item in items if isinstance(items, list) else ():
        if isinstance(item, dict) and str(item.get("id", "")) in question_ids:
            try:
                answers[str(item["id"])] = 1 if int(item.get("answer", 0)) == 1 else 0
            except (TypeError, ValueError, OverflowError):
                continue
    return answers if len(answers) == len(question_ids) else None


def _judged(sample: TailSample, raw: str, question_ids: Sequence[str], limits: TailLimits) -> TailVerdict:
    if not raw.strip():
        return TailVerdict(sample.sample_id, checked=True, passed=True, reason="judge_unavailable")
    answers = parse_tail_answers(raw, question_ids)
    if answers is None:
        return TailVerdict(sample.sample_id, checked=True, passed=True, reason="judge_unparsable")
    passed = sum(1 for bit in answers.values() if bit == 0) < limits.failing_zeros
    return TailVerdict(sample.sample_id, True, passed, "" if passed else "degenerate_tail", answers)


def run_tail_check(
    samples: Sequence[TailSample],
    judge_replies: Sequence[str],
    question_ids: Sequence[str],
    limits: TailLimits = TailLimits(),
) -> tuple[list[TailVerdict], list[str]]:
    """Return the verdicts and, for each sample, its reason to fail (empty when it does not).

    Samples with an error or an earlier reason get no verdict. A looped one fails at once; one of at most
    `cutoff` scored turns passes unchecked; the others are judged, one reply each in order, after all those.
    Failing tails fail their samples only when there are `failing_samples` of them.
    """
    reasons = [sample.heuristic_reason for sample in samples]
    verdicts: list[TailVerdict] = []
    waiting: list[int] = []
    for index, sample in enumerate(samples):
        if sample.error or sample.heuristic_reason:
            continue
        scored = scored_contents(sample.turns)
        reason = looping_reason(scored, limits.ratio_limit, limits.run_limit)
        if reason:
            verdicts.append(TailVerdict(sample.sample_id, checked=True, passed=False, reason=reason))
            reasons[index] = reason
        elif len(scored) <= limits.cutoff:
            verdicts.append(TailVerdict(sample.sample_id, checked=False, passed=True, reason="finished_early"))
        else:
            waiting.append(index)
    failing: list[int] = []
    for number, index in enumerate(waiting):
        raw = judge_replies[number] if number < len(judge_replies) else ""
        verdict = _judged(samples[index], raw, question_ids, limits)
        verdicts.append(verdict)
        if not verdict.passed:
            failing.append(index)
    if len(failing) >= limits.failing_samples:
        for index in failing:
            reasons[index] = "degenerate_tail"
    return verdicts, reasons
