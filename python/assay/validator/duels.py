"""Reason, the turn score and the duel (contract sn120 B.5, weight versions 3 to 9)."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from statistics import mean, median, stdev
from typing import Any

from assay.validator.rollouts import command_of

CAUSALITY_LIFT = 0.02
LEAK_SHARE = 0.6
LEAK_TOKEN_CHARACTERS = 3
ETA_DENOMINATOR = 1e-9

Pair = Mapping[str, Any]
Row = Mapping[str, Any]


def reason(pair: Pair) -> float:
    """Return the reason of a pair: how much the miner's thought lifts the teacher's action, a byte."""
    return float(pair["lpC_yc_za"]) - float(pair["lpC_yc_e"])


def eta(pair: Pair) -> float | None:
    """Return the reason as a share of the teacher's own lift, or null where that is missing or next to
    nothing.
    """
    if pair.get("lpC_yc_zc") is None or pair.get("lpC_yc_za") is None or pair.get("lpC_yc_e") is None:
        return None
    denominator = float(pair["lpC_yc_zc"]) - float(pair["lpC_yc_e"])
    if not math.isfinite(denominator) or abs(denominator) < ETA_DENOMINATOR:
        return None
    share = reason(pair) / denominator
    return share if math.isfinite(share) else None


def _words_within(words: Set[str], text: str) -> Set[str]:
    """Return the words that occur in a text, be it inside others."""
    by_length: dict[int, list[str]] = {}
    for word in words:
        by_length.setdefault(len(word), []).append(word)
    found: set[str] = set()
    for length, group in by_length.items():
        # Many short words are looked up among all pieces of the text of their length, one search for all.
        if len(group) > 256 and length <= 16:
            found |= {text[begin : begin + length] for begin in range(len(text) - length + 1)}.intersection(group)
        else:
            found.update(word for word in group if word in text)
    return found


def leaks_action(thought: str, action: str, share: float = LEAK_SHARE) -> bool:
    """Say whether a thought gives its action away.

    It does when it holds the whole command, or the `name` of a JSON command, or at least `share` of the
    command's words of three characters and more. An empty command does not leak.
    """
    command = command_of(action.strip()).strip()
    if not command:
        return False
    if command in thought:
        return True
    if command.startswith("{") and '"name"' in command:
        try:
            value = json.loads(command)
        except (ValueError, RecursionError):
            return False
        name = value.get("name") if isinstance(value, dict) else None
        return isinstance(name, str) and bool(name) and name in thought
    words = [word for word in command.split() if len(word) >= LEAK_TOKEN_CHARACTERS]
    found = _words_within(set(words), thought)
    return bool(words) and sum(word in found for word in words) / len(words) >= share


def turn_reason(pairs: Sequence[Pair], tau: float | None) -> float:
    """Return the score of a turn with at least one pair.

    With a positive `tau` (v4) it is the tempered mean tau · ln(mean(exp(reason / tau))), else (v3) the mean.
    """
    reasons = [reason(pair) for pair in pairs]
    if tau is None or tau <= 0:
        return mean(reasons)
    if len(reasons) == 1:
        return reasons[0]
    highest = max(reasons)
    return highest + tau * math.log(mean(math.exp((value - highest) / tau) for value in reasons))


def passes_causality(pair: Pair, lift: float = CAUSALITY_LIFT) -> bool | None:
    """Say whether a pair passes the causality gate; null when its echoes are missing."""
    with_thought, without = pair.get("lpC_ya_za"), pair.get("lpC_ya_e")
    if with_thought is None or without is None:
        return None
    if leaks_action(pair.get("z_a") or "", pair.get("y_a") or ""):
        return False
    return float(with_thought) - float(without) >= lift


def valid_rows(rows: Iterable[Row]) -> list[Row]:
    """Return the rows that were scored: valid ones with at least one pair."""
    return [row for row in rows if row.get("valid") and row.get("pairs")]


def median_thought_length(rows: Iterable[Row]) -> float | None:
    """Return the median over all pairs of the stripped length of the miner's thought, in characters."""
    lengths = [len((pair.get("z_a") or "").strip()) for row in valid_rows(rows) for pair in row["pairs"]]
    return float(median(lengths)) if lengths else None


def causality_pass_rate(rows: Iterable[Row], lift: float = CAUSALITY_LIFT) -> float | None:
    """Return the share of pairs that pass the causality gate, of those that have their echoes; null without
    any.
    """
    known = [passes_causality(pair, lift) for row in valid_rows(rows) for pair in row["pairs"]]
    flags = [1.0 if passed else 0.0 for passed in known if passed is not None]
    return mean(flags) if flags else None


@dataclass(frozen=True)
class DuelScore:
    """The outcome of a duel; with fewer than two paired turns the margin is 0 and its error infinite."""

    margin: float
    se: float
    z: float
    challenger_wins: bool
    n_paired_turns: int
    thought_floor_blocked: bool
    causality_blocked: bool
    n_forfeit_turns: int = 0

    @property
    def rejection_reason(self) -> str | None:
        """Why the challenger is blocked whatever its margin, or null; the length comes first."""
        if self.thought_floor_blocked:
            return "thought_too_short"
        return "causality_fail" if self.causality_blocked else None


def duel(
    challenger_rows: Sequence[Row],
    king_rows: Sequence[Row],
    k_sigma: float,
    tau: float | None = None,
    min_margin: float = 0.0,
    min_thought_chars: float = 0,
    causality_gamma: float = 0.0,
) -> DuelScore:
    """Return the outcome of a duel over the turns that are valid on both sides.

    The challenger wins when its mean lead exceeds both `k_sigma` standard errors and `min_margin` and no gate
    that is on (above 0) blocks it. Gates look at all its valid rows and block whatever the margin.
    """
    challenger = {row["turn_id"]: row for row in valid_rows(challenger_rows)}
    king = {row["turn_id"]: row for row in valid_rows(king_rows)}
    leads = [
        turn_reason(challenger[turn_id]["pairs"], tau) - turn_reason(king[turn_id]["pairs"], tau)
        for turn_id in sorted(challenger.keys() & king.keys())
    ]
    if len(leads) < 2:
        return DuelScore(0.0, math.inf, 0.0, False, len(leads), False, False)
    margin = mean(leads)
    error = stdev(leads) / math.sqrt(len(leads))
    ratio = margin / error if error > 0 else (math.inf if margin > 0 else 0.0)
    length = median_thought_length(challenger_rows)
    too_short = min_thought_chars > 0 and (length is None or length < min_thought_chars)
    rate = causality_pass_rate(challenger_rows) if causality_gamma > 0 else None
    not_causal = causality_gamma > 0 and (rate is None or rate < causality_gamma)
    wins = margin > max(k_sigma * error, min_margin) and not too_short and not not_causal
    return DuelScore(margin, error, ratio, wins, len(leads), too_short, not_causal)
