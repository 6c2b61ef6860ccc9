"""A kind of artifact: which files it is, how they are read, which tables its records fill."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from assay.landing.json_text import TextCounts
from assay.landing.lines import Line
from assay.landing.rows import Columns, Rows

Facts = dict[str, str]
"""What the path says about every record in the file, for example the folder's eval run id."""

Extractor = Callable[[Any, Facts, Rows], None]
"""Takes one parsed record (or, for `text`, one decoded line) and emits its rows, or raises `RefusedError`."""

ColumnarExtractor = Callable[[Sequence[Line], Facts, TextCounts], Columns | None]
"""Takes many lines of `json_lines` and returns what the `Extractor` would emit; None unless it refuses none."""


@dataclass(frozen=True)
class Kind:
    """`reader` is one of `json_lines`, `json_document`, `text_lines`, `parquet`, `safetensors`, `hash_only`.

    The first of `tables` is the primary one: it gets exactly one row a line that was read. `extract_columns` is the
    fast way for the kinds that hold most of the bytes.
    """

    source: str
    name: str
    reader: str
    tables: tuple[str, ...] = ()
    extract: Extractor | None = None
    extract_columns: ColumnarExtractor | None = None
