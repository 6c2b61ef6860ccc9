"""The teacher steps as a build runs them: in a process of their own, with the result as views of the warehouse."""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb

from assay.errors import AssayError
from assay.landing.step import SCHEMA, leave_fault, publish, run_apart
from assay.teacher import artifacts, prompts, selected, tokens
from assay.teacher.tables import OUTPUTS

INPUT_FOLDER = "teacher_input"


def duel_facts_step(
    session: duckdb.DuckDBPyConnection, model: str, folder: str, rules: duckdb.DuckDBPyRelation
) -> duckdb.DuckDBPyRelation:
    """Make reference facts and duel margins of what was landed in `folder` and return the reference facts.

    `rules` has one column, the temperings of the known versions.
    """
    taus = sorted((row[0] for row in rules.distinct().fetchall()), key=lambda tau: (tau is not None, tau))
    return _step(session, model, folder, {"step": "duels", "taus": taus}, artifacts.TABLES)


def repair_step(
    session: duckdb.DuckDBPyConnection,
    model: str,
    folder: str,
    references: duckdb.DuckDBPyRelation,
    cue: str,
    pinned_version: str,
) -> duckdb.DuckDBPyRelation:
    """Repair, check and put together the selected references, and return what came of them."""
    path = _hand_over(session, folder, "selected", references)
    request = {"step": "repair", "input": path, "cue": cue, "pinned_version": pinned_version}
    return _step(session, model, folder, request, [selected.TABLE])


def prompt_step(
    session: duckdb.DuckDBPyConnection, model: str, folder: str, raw_root: str, places: duckdb.DuckDBPyRelation
) -> duckdb.DuckDBPyRelation:
    """Render the prompts of turns with a place in the corpus, and return them without their text."""
    path = _hand_over(session, folder, "places", places)
    request = {"step": "prompts", "input": path, "tokenizer": str(Path(raw_root) / "tokenizer")}
    made = _step(session, model, folder, request, [prompts.TABLE])
    return made.project(", ".join(name for name in OUTPUTS[prompts.TABLE].names if name != "prompt"))


def token_step(session: duckdb.DuckDBPyConnection, model: str, folder: str, raw_root: str) -> duckdb.DuckDBPyRelation:
    """Count the tokens of the rendered prompts and return the counts."""
    request = {"step": "tokens", "tokenizer": str(Path(raw_root) / "tokenizer")}
    return _step(session, model, folder, request, [tokens.TABLE])


def _hand_over(session: duckdb.DuckDBPyConnection, folder: str, name: str, relation: duckdb.DuckDBPyRelation) -> str:
    """Write what a step takes as a file that its process can read; return the path."""
    path = Path(folder) / INPUT_FOLDER / f"{name}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    relation.write_parquet(str(path), compression="zstd")
    return str(path)


def _step(
    session: duckdb.DuckDBPyConnection, model: str, folder: str, request: dict[str, Any], tables: Sequence[str]
) -> duckdb.DuckDBPyRelation:
    workers = int(os.environ.get("ASSAY_THREADS") or 0) or None
    fault = run_apart(["-m", "assay.teacher.step"], json.dumps({**request, "folder": folder, "workers": workers}))
    leave_fault(session, model, fault)
    if fault is not None:
        return session.from_arrow(OUTPUTS[tables[0]].empty_table())
    publish(session, folder, tables)
    return session.sql(f"select * from {SCHEMA}.{tables[0]}")


def main() -> int:
    """Do what the request on standard input says; a fault is one sentence on standard error."""
    request = json.load(sys.stdin)
    landing, workers = Path(request["folder"]), request["workers"]
    try:
        if request["step"] == "duels":
            artifacts.derive_duels(landing, request["taus"], workers)
        elif request["step"] == "repair":
            pinned = request["pinned_version"]
            selected.repair_selected(Path(request["input"]), landing, request["cue"], pinned, workers)
        elif request["step"] == "prompts":
            prompts.make_prompts(Path(request["input"]), landing, Path(request["tokenizer"]), workers)
        else:
            tokens.count_tokens(landing, Path(request["tokenizer"]), workers)
    except (AssayError, ValueError) as error:
        print(f"assay: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
