"""The teacher steps as a build runs them: in a process of their own, with the result as views of the warehouse."""

from collections.abc import Sequence
from pathlib import Path

import duckdb

from assay.settings import threads
from assay.steps.process import apart
from assay.steps.warehouse import SCHEMA, hand_over, publish, step_of_a_model
from assay.teacher import artifacts, prompts, selected, tokens
from assay.teacher.tables import PROMPTS, REFERENCE_FACTS, REPAIRED, TOKENS

Session = duckdb.DuckDBPyConnection


@step_of_a_model(REFERENCE_FACTS)
def duel_facts_step(session: Session, folder: str, rules: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
    """Make reference facts and duel margins of what was landed in `folder` and return the reference facts.

    `rules` has one column, the temperings of the known versions.
    """
    taus = sorted((row[0] for row in rules.distinct().fetchall()), key=lambda tau: (tau is not None, tau))
    apart(artifacts.derive_duels, Path(folder), taus, threads())
    return _published(session, folder, artifacts.TABLES)


@step_of_a_model(REPAIRED)
def repair_step(
    session: Session, folder: str, references: duckdb.DuckDBPyRelation, cue: str, pinned_version: str
) -> duckdb.DuckDBPyRelation:
    """Repair, check and put together the selected references, and return what came of them."""
    given = hand_over(folder, "selected", references)
    apart(selected.repair_selected, given, Path(folder), cue, pinned_version, threads())
    return _published(session, folder, [selected.TABLE])


@step_of_a_model(PROMPTS)
def prompt_step(
    session: Session, folder: str, raw_root: str, places: duckdb.DuckDBPyRelation
) -> duckdb.DuckDBPyRelation:
    """Render the prompts of turns with a place in the corpus, and return them without their text."""
    given = hand_over(folder, "places", places)
    apart(prompts.make_prompts, given, Path(folder), Path(raw_root) / "tokenizer", threads())
    made = _published(session, folder, [prompts.TABLE])
    return made.project(", ".join(name for name in PROMPTS.names if name != "prompt"))


@step_of_a_model(TOKENS)
def token_step(session: Session, folder: str, raw_root: str) -> duckdb.DuckDBPyRelation:
    """Count the tokens of the rendered prompts and return the counts."""
    apart(tokens.count_tokens, Path(folder), Path(raw_root) / "tokenizer", threads())
    return _published(session, folder, [tokens.TABLE])


def _published(session: Session, folder: str, tables: Sequence[str]) -> duckdb.DuckDBPyRelation:
    publish(session, folder, tables)
    return session.sql(f"select * from {SCHEMA}.{tables[0]}")
