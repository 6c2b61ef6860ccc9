"""A kind of artifact: which files it is, how they are read, which tables its records fill."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from assay.landing.rows import Rows

Facts = dict[str, str]
"""What the path says about every record in the file, for example the folder's eval run id."""

Extractor = Callable[[Any, Facts, Rows], None]
"""Takes one parsed record (or, for `text`, one decoded line) and emits its rows, or raises `RefusedError`."""


@dataclass(frozen=True)
class Kind:
    """`reader` is one of `json_lines`, `json_document`, `text_lines`, `parquet`, `safetensors`, `hash_only`.

    The first of `tables` is the primary one: it gets exactly one row a line that was read.
    """

    source: str
    name: str
    reader: str
    tables: tuple[str, ...] = ()
    extract: Extractor | None = None
