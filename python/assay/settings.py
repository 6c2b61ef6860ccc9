"""The environment variables of assay: each is checked here, and a faulty one is one sentence that names it."""

import os
from collections.abc import Mapping

from assay.errors import AssayError
from assay.names import shown

MOST_THREADS = 1024


def threads(environment: Mapping[str, str] = os.environ) -> int | None:
    """`ASSAY_THREADS`: how many processes read files and how many threads DuckDB has; None: one a core.

    Raises AssayError for anything but a whole number from 1 to `MOST_THREADS`.
    """
    text = environment.get("ASSAY_THREADS", "")
    if not text:
        return None
    is_number = text.isascii() and text.isdigit() and len(text) <= len(str(MOST_THREADS))
    if not is_number or not 1 <= int(text) <= MOST_THREADS:
        raise AssayError(
            f"ASSAY_THREADS is {shown(text[:40])}: set it to a whole number from 1 to {MOST_THREADS}, "
            "or leave it out for every core"
        )
    return int(text)
