"""Margins of a duel under every tempering, and what its gates look at (contract sn120 B.5)."""

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.validator.duels import Row, causality_pass_rate, duel, median_thought_length, valid_rows

ENDING_CHARACTERS = 32

LARGEST_LOG_PROBABILITY = 1e6
"""A log probability a byte beyond this in size is none: a model's least token is worth less than a hundred a byte."""

# Columns of the landed pairs and the published names the rules speak of.
PAIR_NAMES = {
    "lpc_yc_za": "lpC_yc_za",
    "lpc_yc_zc": "lpC_yc_zc",
    "lpc_yc_e": "lpC_yc_e",
    "lpc_ya_za": "lpC_ya_za",
    "lpc_ya_e": "lpC_ya_e",
    "thought": "z_a",
    "action": "y_a",
}


@dataclass(frozen=True)
class Margin:
    """One comparison of the sides; `tau` null is the plain mean. An infinite error or ratio is null."""

    tau: float | None
    n_paired_turns: int
    margin: float
    se: float | None
    z: float | None


@dataclass(frozen=True)
class CommonEnding:
    """The commonest ending of a side's thoughts: over how many turns, the ending, and its share of them."""

    n_thoughts: int
    ending: str | None
    share: float | None


def own_tau(duel_params: str | None) -> float | None:
    """Return the tempering a record states, or null when it states none, or one that is not a finite number."""
    parameters = json.loads(duel_params) if duel_params else None
    tau = parameters.get("tau") if isinstance(parameters, dict) else None
    if not isinstance(tau, int | float) or isinstance(tau, bool):
        return None
    try:
        return _finite(float(tau))
    except OverflowError:
        return None


def rows_of(rows: Iterable[Mapping[str, Any]], pairs: Iterable[Mapping[str, Any]]) -> dict[str, list[Row]]:
    """Return a record's rows by side as published, from its landed rows and pairs."""
    by_row: dict[tuple[str, int], list[tuple[int, dict[str, Any]]]] = {}
    for pair in pairs:
        published = {name: pair[column] for column, name in PAIR_NAMES.items()}
        by_row.setdefault((pair["side"], pair["row_index"]), []).append((pair["pair_index"], published))
    sides: dict[str, list[Row]] = {"king": [], "challenger": []}
    for row in sorted(rows, key=lambda row: int(row["row_index"])):
        own = sorted(by_row.get((row["side"], row["row_index"]), []), key=lambda item: item[0])
        sides[row["side"]].append(
            {"turn_id": row["turn_id"], "valid": row["valid"], "pairs": [pair for _, pair in own]}
        )
    return sides


def unknown_reason(sides: Mapping[str, Sequence[Row]]) -> str | None:
    """Say why a record cannot be scored again from its rows, or null when it can."""
    for side in ("king", "challenger"):
        if not sides[side]:
            return f"no_{side}_rows"
    for side in ("king", "challenger"):
        for row in valid_rows(sides[side]):
            for pair in row["pairs"]:
                values = (pair["lpC_yc_za"], pair["lpC_yc_e"])
                if None in values:
                    return "pair_without_log_probability"
                if any(abs(value) > LARGEST_LOG_PROBABILITY for value in values):
                    return "log_probability_out_of_range"
    return None


def margins(sides: Mapping[str, Sequence[Row]], taus: Iterable[float | None]) -> list[Margin]:
    """Return the duel's margin under every tempering once; gates are off, they block whatever the margin."""
    found = []
    for tau in dict.fromkeys(taus):
        score = duel(sides["challenger"], sides["king"], k_sigma=0.0, tau=tau)
        found.append(Margin(tau, score.n_paired_turns, score.margin, _finite(score.se), _finite(score.z)))
    return found


def gate_values(challenger_rows: Sequence[Row]) -> tuple[float | None, float | None]:
    """Return what the gates compare: median thought length in characters, pass rate of the causality gate."""
    return median_thought_length(challenger_rows), causality_pass_rate(challenger_rows)


def common_ending(rows: Sequence[Row]) -> CommonEnding:
    """Return the commonest last `ENDING_CHARACTERS` characters of a side's thoughts, each turn counted once.

    Thoughts not longer than that do not count: a short thought is no suffix. Ties go to the smallest text.
    """
    endings: Counter[str] = Counter()
    for row in valid_rows(rows):
        thought = (row["pairs"][0].get("z_a") or "").strip()
        if len(thought) > ENDING_CHARACTERS:
            endings[thought[-ENDING_CHARACTERS:]] += 1
    total = sum(endings.values())
    if not total:
        return CommonEnding(0, None, None)
    ending, count = min(endings.items(), key=lambda item: (-item[1], item[0]))
    return CommonEnding(total, ending, count / total)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
