"""Which turns an explanation cites. Source: contract sn97 d, definitions (cited turns)."""

import re
from collections.abc import Iterator

import pyarrow as pa

_STRICT = re.compile(r"CANDIDATE OUTPUT ([0-9]+)")
_NUMBER = r"#?[0-9]+"
_JOIN = r"\s*(?:-|–|—|,|/|&|\bto\b|\bthrough\b|\band\b|\bor\b)\s*(?:and\s+|or\s+)?(?:(?:candidate\s+)?outputs?\s+)?"
_EXTENDED = re.compile(rf"\b(?:candidate\s+)?outputs?\s+({_NUMBER}(?:{_JOIN}{_NUMBER})*)", re.IGNORECASE)
_PART = re.compile(r"([0-9]+)|(-|–|—|\bto\b|\bthrough\b)", re.IGNORECASE)

LARGEST_NUMBER = 2**31 - 1
LONGEST_RANGE = 256
"""A wider range cites its two ends alone: no side has that many turns."""

CITED = pa.schema([("turn", pa.int64()), ("form", pa.string())])


def cited_turns(explanation: str) -> dict[int, str]:
    """Return every cited number once, in rising order, with the form that reads it: `strict` or `extended`.

    Strict is `CANDIDATE OUTPUT <n>`, case-sensitive; extended also takes plurals, lists and ranges in any case.
    Numbers beyond 32 bits are cited as the largest one: they dangle either way.
    """
    strict = {_bounded(number) for number in _STRICT.findall(explanation)}
    extended: set[int] = set()
    for match in _EXTENDED.finditer(explanation):
        extended.update(_numbers(match.group(1)))
    return {number: "strict" if number in strict else "extended" for number in sorted(strict | extended)}


def _numbers(text: str) -> Iterator[int]:
    previous: int | None = None
    in_range = False
    for part in _PART.finditer(text):
        if part.group(2):
            in_range = previous is not None
            continue
        number = _bounded(part.group(1))
        if in_range and previous is not None and previous < number <= previous + LONGEST_RANGE:
            yield from range(previous + 1, number)
        yield number
        previous, in_range = number, False


def _bounded(digits: str) -> int:
    return min(int(digits[:12]), LARGEST_NUMBER)


def cite(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Replace column `explanation` of a batch by `turn` and `form`, one row a cited number; other columns stay."""
    rows: list[int] = []
    turns: list[int] = []
    forms: list[str] = []
    for row, explanation in enumerate(batch.column("explanation").to_pylist()):
        for number, form in cited_turns(explanation or "").items():
            rows.append(row)
            turns.append(number)
            forms.append(form)
    kept = batch.drop_columns(["explanation"]).take(pa.array(rows, pa.int64()))
    return pa.RecordBatch.from_arrays(
        [*kept.columns, pa.array(turns, pa.int64()), pa.array(forms, pa.string())],
        schema=cited_schema(batch.schema),
    )


def cited_schema(schema: pa.Schema) -> pa.Schema:
    """The schema of `cite` for a batch of `schema`."""
    return pa.schema([field for field in schema if field.name != "explanation"] + list(CITED))
