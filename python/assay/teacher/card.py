"""The card of the teacher set: what it is, how a row was chosen, what was dropped, as the dataset hub reads it."""

from collections.abc import Mapping, Sequence
from typing import Any

_TEXT = """# Teacher references, one row a turn

{n_rows} rows. `prompt` and `completion` are plain strings for a prompt-completion trainer: put no chat template on top,
and let sequences be at least 32,768 tokens long. The prompt ends inside an open think block; the completion closes it.
Every completion was taken apart again by the validator's own rule into exactly its `thought` with the cue, and its
`action`.

A row is the reference with the highest lift (`lp_own` - `lp_empty`) among those of the turn's pool whose command starts
with the commonest first token; it was chosen before any filter, and no second one takes its place.
`modal_share` compares first tokens, `modal_norm_share` normalised commands, `modal_action_share` bytes; all three say
nothing where `n_pool_refs` is 1. Where `lift_describes_action` is false, a repair has put another command in the place
of the one that was scored.
"""

Rows = Sequence[Mapping[str, Any]]


def card(
    head: str,
    n_rows: int,
    pools: Mapping[int | None, tuple[int, int]],
    facts: Mapping[str, Rows],
    settings: Mapping[str, str],
) -> str:
    """Return the card as Markdown behind the hub's YAML head.

    `pools` holds pooled turns and references an epoch; `facts` the rows of drop_counts, repair_counts, sft_mix and
    sft_lengths; `settings` what the set was made under. Counts come from these tables alone.
    """
    parts = [head, _TEXT.format(n_rows=f"{n_rows:,}")]
    parts.append(_table("Pools", ("corpus epoch", "pooled turns", "references"), _pools(pools)))
    drops = _ordered(facts["drop_counts"], "filter_order")
    parts.append(
        _table(
            "What is no row",
            ("corpus epoch", "verdict", "reason", "turns"),
            [(row["corpus_epoch"], row["verdict"], row["drop_reason"], row["n_turns"]) for row in drops],
        )
    )
    repairs = _ordered(facts["repair_counts"], "repair_order")
    parts.append(
        _table(
            "Repairs",
            ("corpus epoch", "repair", "selected references", "rows"),
            [(row["corpus_epoch"], row["flag"], row["n_turns"], row["n_rows"]) for row in repairs],
        )
    )
    mix = sorted(facts["sft_mix"], key=lambda row: (_number(row["corpus_epoch"]), row["dimension"], -row["n_rows"]))
    parts.append(
        _table(
            "Mix",
            ("corpus epoch", "by", "value", "rows", "share"),
            [
                (row["corpus_epoch"], row["dimension"], row["value"] or "(empty)", row["n_rows"], f"{row['share']:.3f}")
                for row in mix
            ],
        )
    )
    lengths = facts["sft_lengths"]
    parts.append(
        _table(
            "Lengths",
            ("corpus epoch", "measure", "median", "p95", "maximum"),
            [
                (row["corpus_epoch"], row["measure"], f"{row['median']:.0f}", f"{row['p95']:.0f}", row["maximum"])
                for row in lengths
            ],
        )
    )
    parts.append(_table("Settings", ("setting", "value"), sorted((name, value) for name, value in settings.items())))
    return "\n".join(parts)


def _number(value: int | None) -> float:
    return float("inf") if value is None else value


def _ordered(rows: Rows, order: str) -> list[Mapping[str, Any]]:
    return sorted(rows, key=lambda row: (_number(row["corpus_epoch"]), _number(row[order]), str(sorted(row.items()))))


def _pools(pools: Mapping[int | None, tuple[int, int]]) -> list[tuple[Any, ...]]:
    return [(epoch, *pools[epoch]) for epoch in sorted(pools, key=_number)]


def _table(title: str, head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    lines = [f"## {title}", "", f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    lines += [f"| {' | '.join(_cell(value) for value in row)} |" for row in rows]
    return "\n".join([*lines, ""])


def _cell(value: Any) -> str:
    text = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
    return text.replace("|", "\\|").replace("\n", " ")
