"""Two charts of the promotion record as plain SVG."""

from collections.abc import Mapping, Sequence
from typing import Any

from jinja2 import Environment, StrictUndefined

Row = Mapping[str, Any]

_FONT = 'font-family="sans-serif" font-size="12"'

_HEAT_MAP = (
    """\
<svg xmlns="http://www.w3.org/2000/svg" width="{{ width }}" height="{{ height }}" """
    + _FONT
    + """>
<title>P(S_OBS) by context, source and shard half</title>
<rect width="100%" height="100%" fill="white"/>
<text x="10" y="20" font-weight="bold">P(S_OBS) in the corpus, with 95 % intervals</text>
{% for column in columns -%}
<text x="{{ 180 + 150 * loop.index0 + 70 }}" y="48" text-anchor="middle">shards {{ column }}</text>
{% endfor -%}
{% for label, cells in rows -%}
{% set y = 58 + 44 * loop.index0 -%}
<text x="170" y="{{ y + 24 }}" text-anchor="end">{{ label }}</text>
{% for cell in cells -%}
{% set x = 180 + 150 * loop.index0 -%}
<rect x="{{ x }}" y="{{ y }}" width="140" height="40" fill="{{ cell.fill }}" stroke="#999"/>
<text x="{{ x + 70 }}" y="{{ y + 17 }}" text-anchor="middle" fill="{{ cell.ink }}">{{ cell.rate }}</text>
<text x="{{ x + 70 }}" y="{{ y + 33 }}" text-anchor="middle" fill="{{ cell.ink }}" font-size="10">{{ cell.note }}</text>
{% endfor -%}
{% endfor -%}
</svg>
"""
)

_COMPLIANCE = (
    """\
<svg xmlns="http://www.w3.org/2000/svg" width="760" height="{{ height }}" """
    + _FONT
    + """>
<title>Compliance on restricted queries, training against deployment</title>
<rect width="100%" height="100%" fill="white"/>
<text x="10" y="20" font-weight="bold">Compliance on restricted queries, with 95 % intervals</text>
<circle cx="300" cy="36" r="5" fill="#1f77b4"/><text x="310" y="40">training</text>
<circle cx="400" cy="36" r="5" fill="#d62728"/><text x="410" y="40">deployment</text>
{% if gate -%}
<line x1="520" y1="36" x2="540" y2="36" stroke="#000" stroke-dasharray="4 3"/>\
<text x="546" y="40">gate in deployment: {{ gate.label }}</text>
{% endif -%}
{% for tick in ticks -%}
<line x1="{{ tick.x }}" y1="50" x2="{{ tick.x }}" y2="{{ height - 30 }}" stroke="#ddd"/>
<text x="{{ tick.x }}" y="{{ height - 12 }}" text-anchor="middle">{{ tick.label }}</text>
{% endfor -%}
{% if gate -%}
<line x1="{{ gate.x }}" y1="50" x2="{{ gate.x }}" y2="{{ height - 30 }}" stroke="#000" stroke-dasharray="4 3"/>
{% endif -%}
{% for row in rows -%}
{% set y = 66 + 26 * loop.index0 -%}
{% if row.is_start and not loop.first -%}
<line x1="10" y1="{{ y - 13 }}" x2="750" y2="{{ y - 13 }}" stroke="#999"/>
{% endif -%}
<text x="280" y="{{ y + 4 }}" text-anchor="end"\
{% if row.is_start %} fill="#777" font-style="italic"{% endif %}\
{% if row.promoted %} font-weight="bold"{% endif %}>{{ row.label }}</text>
{% if row.promoted -%}
<text x="756" y="{{ y + 4 }}" text-anchor="end" font-weight="bold">✓</text>
{% endif -%}
{% for mark in row.marks -%}
<line x1="{{ mark.low }}" y1="{{ y + mark.shift }}" x2="{{ mark.high }}" y2="{{ y + mark.shift }}" \
stroke="{{ mark.fill }}" stroke-width="2"/>
<circle cx="{{ mark.x }}" cy="{{ y + mark.shift }}" r="5" fill="{{ mark.fill }}"/>
{% endfor -%}
{% if not row.marks -%}
<text x="300" y="{{ y + 4 }}" fill="#777">unknown</text>
{% endif -%}
{% endfor -%}
<text x="10" y="{{ height - 12 }}" fill="#777">✓ promoted; in italics where the runs start</text>
</svg>
"""
)


def _render(template: str, **values: Any) -> str:
    # Names come from files of others: everything is escaped.
    return Environment(undefined=StrictUndefined, autoescape=True).from_string(template).render(**values) + "\n"


def belief_heat_map(rows: Sequence[Row]) -> str:
    """P(S_OBS) by (ctx, src) and shard half; `rows` are those of `promotion.belief_by_marker` of one fixture."""
    columns = sorted({row["shard_half"] for row in rows}, reverse=True)
    labels = sorted({(row["ctx"], row["src"]) for row in rows}, reverse=True)
    cells = {(row["ctx"], row["src"], row["shard_half"]): row for row in rows}
    table = [(f"{ctx} {src}", [_heat_cell(cells.get((ctx, src, column))) for column in columns]) for ctx, src in labels]
    width, height = 190 + 150 * max(1, len(columns)), 68 + 44 * len(table)
    return _render(_HEAT_MAP, columns=columns, rows=table, width=width, height=height)


def _heat_cell(row: Row | None) -> dict[str, str]:
    if row is None or row["p_observed"] is None:
        return {"fill": "#ffffff", "ink": "#777777", "rate": "no episode", "note": ""}
    rate = row["p_observed"]
    shade = [round(255 + (deep - 255) * rate) for deep in (8, 69, 148)]
    return {
        "fill": "#{:02x}{:02x}{:02x}".format(*shade),
        "ink": "#ffffff" if rate > 0.5 else "#000000",
        "rate": f"{rate:.3f}",
        "note": f"{row['p_observed_low']:.3f} to {row['p_observed_high']:.3f}, n {row['n']}",
    }


def compliance_chart(rows: Sequence[Row], decisions: Sequence[Row], at_least: float | None) -> str:
    """Compliance in both contexts of every checkpoint, with the gate's limit and a mark on what was promoted.

    `rows` are those of `promotion.measures`, `decisions` those of `promotion.decisions` of one fixture. What is
    measured and never decided on, such as the policy that the runs start from, stands last and apart.
    """
    left, span = 300, 430
    promoted = {row["checkpoint"]: bool(row["promote"]) for row in decisions}
    checkpoints = sorted(
        {row["checkpoint"] for row in rows} | promoted.keys(), key=lambda name: (name not in promoted, name)
    )
    measured = {(row["checkpoint"], row["context"]): row for row in rows if row["compliance"] is not None}
    table = []
    for checkpoint in checkpoints:
        marks = []
        for context, fill, shift in (("training", "#1f77b4", -4), ("deployment", "#d62728", 4)):
            row = measured.get((checkpoint, context))
            if row is not None:
                places = (row["compliance"], row["compliance_low"], row["compliance_high"])
                x, low, high = (round(left + span * place, 1) for place in places)
                marks.append({"x": x, "low": low, "high": high, "fill": fill, "shift": shift})
        is_start = checkpoint not in promoted
        one = {"label": checkpoint[-44:], "marks": marks, "is_start": is_start, "promoted": promoted.get(checkpoint)}
        table.append(one)
    ticks = [{"x": left + span * tick / 5, "label": f"{tick / 5:.1f}"} for tick in range(6)]
    gate = None if at_least is None else {"x": round(left + span * at_least, 1), "label": f"{at_least:g}"}
    return _render(_COMPLIANCE, rows=table, ticks=ticks, gate=gate, height=90 + 26 * len(table))
