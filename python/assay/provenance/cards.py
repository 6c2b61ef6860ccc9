"""Dataset cards as Markdown, rendered from tables; no number in them is typed, no text of the data can break out."""

import html
from collections.abc import Mapping, Sequence
from typing import Any

from jinja2 import StrictUndefined
from jinja2.sandbox import ImmutableSandboxedEnvironment

Rows = Sequence[Mapping[str, Any]]

MIXES_CARD = """\
{{ head }}
# Training mixes from credited turns

Multi-turn conversations of coding agents in which single assistant turns train. Every message has a flag `train`; what
does not train is context, the failed states included. `train_meta` names for every trained turn its credit, the tags it
earned, whether it is a recovery, and the kind of its command, so that composition can change at training time.

Each mix is a file of JSON lines (`<mix>.jsonl`), the same rows as parquet, and as parquet by split; `final_v1` and
`final_v2` put mixes together. `pairs` holds preference pairs in the same forms. Rows of one task, duplicates and near
duplicates share a split. `mask_audit.jsonl` holds for every candidate row what became of its mask.

{% if tokenizer is none %}
No tokenizer was named when this was built. The mask is a flag on whole messages and was looked at as that: what trains
is text and is not empty. Label spans were not proven, and every figure of tokens is unknown and left empty. Name the
tokenizer of the model to train (`ASSAY_TOKENIZER`) and build again to have both.
{% else %}
Each label span was found in the encoded row and decoded back to exactly the content of its turn, and all tokens were
counted, with one tokenizer and its chat template: {{ tokenizer | cell }}.
{% endif %}

{% for table in tables %}
## {{ table.title }}

{% if table.note %}
{{ table.note }}

{% endif %}
{% if table.rows %}
| {{ table.columns | map('cell') | join(' | ') }} |
|{% for _ in table.columns %}---|{% endfor %}

{% for row in table.rows %}
| {% for column in table.columns %}{{ row[column] | cell }}{{ ' | ' if not loop.last }}{% endfor %} |
{% endfor %}
{% else %}
None.
{% endif %}

{% endfor %}
"""


def rendered(template: str, **values: Any) -> str:
    """Render a card. Raises jinja2.UndefinedError when a value that the template names is missing."""
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False
    )
    environment.filters["cell"] = cell
    return environment.from_string(template).render(**values)


def card_table(title: str, rows: Rows, columns: Sequence[str] | None = None, note: str = "") -> dict[str, Any]:
    """A table of a card: the rows of a warehouse table, all its columns or the named ones."""
    return {"title": title, "rows": rows, "columns": list(columns or (rows[0] if rows else ())), "note": note}


def cell(value: Any) -> str:
    """A value as the text of one cell: numbers grouped, shares short, text without markup of its own."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"
    if isinstance(value, list | tuple):
        return ", ".join(cell(item) for item in value)
    text = html.escape(str(value), quote=False)
    for mark in "\\`*_[]|~":
        text = text.replace(mark, f"\\{mark}")
    return " ".join(text.split())
