"""Environment variables and vars of assay: each is checked here, and a faulty one is one sentence that names it."""

import difflib
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from itertools import zip_longest
from pathlib import Path
from typing import Any

import yaml

from assay.errors import AssayError
from assay.names import shown

DEFAULT_WAREHOUSE = "warehouse.duckdb"
MOST_THREADS = 1024
# Catalogs of DuckDB, and the schemas of the warehouse: a file of such a name makes `credit.turns` name two things.
RESERVED_NAMES = frozenset(
    "main temp system memory information_schema pg_catalog "
    "seeds builds landing staging intermediate credit gates mixes scorer teacher promotion".split()
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
    for name, default in (("ASSAY_RAW_ROOT", "the bundled sample"), ("ASSAY_EXPORTS", "exports")):
        if not environment.get(name, default).strip():
            raise AssayError(f"{name} is empty: set it to a folder, or leave it out for {default}")
    check_warehouse_path(path)


# --- vars: a kind is what is asked of a value in words, and whether a value of YAML is that


Kind = tuple[str, Callable[[Any], bool]]


def _is_number(value: Any, least: float, most: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most


def _whole(least: int, most: int) -> Kind:
    return (
        f"a whole number from {least} to {most}",
        lambda value: isinstance(value, int) and _is_number(value, least, most),
    )


def _is_date(value: Any) -> bool:
    try:
        return type(value) is date or (isinstance(value, str) and date.fromisoformat(value).isoformat() == value)
    except ValueError:
        return False


def _is_rising(value: Any) -> bool:
    of_numbers = isinstance(value, list) and all(_whole(1, MOST)[1](one) for one in value)
    return of_numbers and bool(value) and value == sorted(set(value))


def _is_epoch(value: Any) -> bool:
    return _whole(0, MOST)[1](value) or (
        isinstance(value, str) and re.fullmatch("[0-9]{0,9}", value.strip()) is not None
    )


MOST = 2**31 - 1
_FLAG: Kind = ("true or false, without quotes", lambda value: isinstance(value, bool))
_COUNT = _whole(1, MOST)
_SHARE: Kind = ("a number from 0 to 1", lambda value: _is_number(value, 0, 1))
_NUMBER: Kind = ("a number from 0 on", lambda value: _is_number(value, 0, math.inf) and value != math.inf)
_TEXT: Kind = ("a text in one line, in quotes", lambda value: isinstance(value, str) and value.isprintable())
_PATH: Kind = (
    "the path of a folder",
    lambda value: isinstance(value, str) and bool(value.strip()) and "\0" not in value,
)

VARS: Mapping[str, Kind] = {
    "raw_root": _PATH,
    "max_line_megabytes": _whole(1, 1 << 20),
    "follow_links_out_of_raw_root": _FLAG,
    "ruleset": _TEXT,
    "size_factor_floor": _SHARE,
    "bootstrap_replicates": _whole(1, 10_000_000),
    "amputated_block_share": _SHARE,
    "repeats_of_being_stuck": _COUNT,
    "turn_window_ends": ("a list of whole numbers from 1 on that rise", _is_rising),
    "many_failures": _COUNT,
    "corpus_epoch": ("a whole number, or empty for every epoch", _is_epoch),
    "deduplicate_references": _FLAG,
    "completion_cue": _TEXT,
    "min_thought_characters": _whole(0, MOST),
    "max_prompt_tokens": _COUNT,
    "bash_version": _TEXT,
    "common_ending_rows": _COUNT,
    "common_ending_characters": _COUNT,
    "tokenizer": _TEXT,
    "chat_template_date": ("a day such as 2025-01-01", _is_date),
    "dataset_license": _TEXT,
    "max_row_tokens": _COUNT,
    "drop_contaminated": _FLAG,
    "near_duplicate_similarity": _SHARE,
    "near_duplicate_fewest_shingles": _COUNT,
    "largest_validation_group": _SHARE,
    "marker_effect": _NUMBER,
    "marker_z": _NUMBER,
    "decisive_difference": _SHARE,
    "high_flag_share": _SHARE,
    "pair_score_gap": _NUMBER,
    "scorer_terms_a_question": _COUNT,
}


def check_vars(given: Mapping[Any, Any]) -> None:
    """Check vars by name and type; raise AssayError with one sentence about the first at fault."""
    for name, value in given.items():
        if name not in VARS:
            near = difflib.get_close_matches(str(name), VARS, n=1)
            meant = f"did you mean {near[0]}?" if near else "dbt_project.yml has them all"
            raise AssayError(f"there is no var {shown(str(name)[:60])}: {meant}")
        asked, fits = VARS[name]
        if not fits(value):
            kind = "null" if value is None else f"the text {value!r}" if isinstance(value, str) else repr(value)
            raise AssayError(f"the var {name} is {shown(kind[:80])}: give {asked}")


def vars_of_project(project: Path) -> dict[Any, Any]:
    """The vars that `dbt_project.yml` of a project sets; none where it cannot be read, which dbt will say."""
    try:
        read = yaml.safe_load((project / "dbt_project.yml").read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError):
        return {}
    found = read.get("vars") if isinstance(read, dict) else None
    return found if isinstance(found, dict) else {}


def vars_of_words(words: Sequence[str]) -> dict[Any, Any]:
    """What `--vars` of a dbt command line gives; raises AssayError where it is no mapping. The last one counts."""
    text = ""
    for word, following in zip_longest(words, words[1:], fillvalue=""):
        if word == "--vars":
            text = following
        elif word.startswith("--vars="):
            text = word.removeprefix("--vars=")
    try:
        read = yaml.safe_load(text)
    except (ValueError, yaml.YAMLError):
        read = text
    if read is None or read == "":
        return {}
    if not isinstance(read, dict):
        raise AssayError(f"--vars is {shown(repr(text)[:80])}: give 'name: value'")
    return read
