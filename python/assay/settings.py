"""The environment variables of assay: each is checked here, and a faulty one is one sentence that names it."""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from assay.errors import AssayError
from assay.names import shown

DEFAULT_WAREHOUSE = "warehouse.duckdb"
MOST_THREADS = 1024
# Catalogs of DuckDB, and the schemas of the warehouse: a file of such a name makes `credit.turns` name two things.
RESERVED_NAMES = frozenset(
    "main temp system memory information_schema pg_catalog "
    "seeds builds landing staging intermediate credit gates mixes teacher promotion".split()
)

_MEMORY = re.compile(r"(?P<number>[0-9]{1,9}(\.[0-9]{1,3})?) ?(?P<unit>%|[KMGT]i?B)", re.ASCII | re.IGNORECASE)


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


def memory(environment: Mapping[str, str] = os.environ) -> str | None:
    """`ASSAY_MEMORY`: what DuckDB may use, as `8GB` or `60%`; None where it is not set.

    Raises AssayError for anything else, for nothing at all, and for more than 100 %.
    """
    text = environment.get("ASSAY_MEMORY")
    if text is None:
        return None
    found = _MEMORY.fullmatch(text)
    number = float(found["number"]) if found else 0.0
    if not found or number == 0.0 or (found["unit"] == "%" and number > 100.0):
        raise AssayError(
            f"ASSAY_MEMORY is {shown(text[:40])}: set it to an amount such as 8GB or 60%, or leave it out for 60%"
        )
    return text


def raw_root(environment: Mapping[str, str] = os.environ) -> Path | None:
    """`ASSAY_RAW_ROOT`, None where it is not set."""
    text = environment.get("ASSAY_RAW_ROOT")
    return Path(text) if text else None


def warehouse(environment: Mapping[str, str] = os.environ) -> str:
    """`ASSAY_DB`, the file of the warehouse; raises AssayError where it cannot be one."""
    path = environment.get("ASSAY_DB", DEFAULT_WAREHOUSE)
    check_warehouse_path(path)
    return path


def check_warehouse_path(path: str) -> None:
    """Raise AssayError where `path`, the file of ASSAY_DB, cannot be that of a warehouse."""
    file = Path(path)
    named = f"ASSAY_DB is {shown(path[:200])}"
    name = file.name.partition(".")[0].lower()
    if not path.strip():
        raise AssayError("ASSAY_DB is empty: set it to a file, or leave it out for warehouse.duckdb")
    if ":" in path:
        raise AssayError(f"{named}: a warehouse is a file whose path has no colon")
    if "'" in path or '"' in path or not path.isprintable():
        raise AssayError(f"{named}: choose a path without quotes and control characters")
    if name in RESERVED_NAMES:
        raise AssayError(
            f"{named}: {name} is a name inside the warehouse, and queries could mean either; choose another"
        )
    if file.is_dir():
        raise AssayError(f"{named}, which is a folder: name a file in it")
    if not file.absolute().parent.is_dir():
        raise AssayError(f"{named}: its folder does not exist; make it first")


def check(path: str, environment: Mapping[str, str] = os.environ) -> None:
    """Check every variable before anything starts; raise AssayError with one sentence about the first at fault."""
    threads(environment)
    memory(environment)
    check_warehouse_path(path)
