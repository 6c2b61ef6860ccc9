"""The project's own SQL outside of a build: models, macros and seeds, rendered and run in an empty DuckDB.

A model or macro is rendered as dbt renders it, with `ref`, `source` and `var`; what it reads is a table that the caller
gives, or a seed. Nothing here imports dbt.
"""

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from jinja2 import Environment, StrictUndefined

from assay.errors import AssayError

Rows = list[dict[str, Any]]


def project_folder() -> Path:
    """The project beside this package, else the working folder; raises AssayError where neither is one."""
    for home in (Path(__file__).parents[3], Path.cwd()):
        if (home / "dbt_project.yml").is_file():
            return home
    raise AssayError(
        "the SQL and the seeds of the rules are in assay's repository, which an installed package does not hold: "
        "run the command in a clone"
    )


class SqlModels:
    """The models, macros and seeds of a project folder, and a database for what they read."""

    def __init__(self, project: Path) -> None:
        """Load the seeds of a project folder."""
        self._project = project
        self._macros = {path.stem: path for path in sorted((project / "macros").rglob("*.sql"))}
        self._models = {path.stem: path for path in sorted((project / "models").rglob("*.sql"))}
        self._environment = Environment(undefined=StrictUndefined, extensions=["jinja2.ext.do"], autoescape=False)
        self._environment.globals.update(
            {name: self._macro(name) for name in self._macros},
            ref=str,
            source=lambda source, table: f"{source}__{table}",
            var=self.variable,
        )
        self._rendered: dict[str, str] = {}
        self._database = duckdb.connect()
        self._database.execute("set threads = 1")
        for seed in sorted((project / "seeds").glob("*.csv")):
            self._database.execute(f'create table "{seed.stem}" as from read_csv($1, header = true)', [str(seed)])

    def _macro(self, name: str) -> Any:
        @cache
        def compiled() -> Any:
            module = self._environment.from_string(self._macros[name].read_text(encoding="utf-8")).module
            return getattr(module, name)

        return lambda *words, **named: compiled()(*words, **named)

    def _model(self, name: str) -> str:
        if name not in self._rendered:
            text = self._models[name].read_text(encoding="utf-8")
            self._rendered[name] = self._environment.from_string(text).render()
        return self._rendered[name]

    def variable(self, name: str) -> Any:
        """The value of a number or text below `vars` of the project file. Raises KeyError for a name it has not."""
        text = (self._project / "dbt_project.yml").read_text(encoding="utf-8")
        found = re.search(rf"^  {re.escape(name)}: (.*)$", text, re.MULTILINE)
        if found is None:
            raise KeyError(name)
        return json.loads(found[1])

    def give(self, name: str, columns: Mapping[str, pa.DataType], rows: Sequence[Mapping[str, Any]]) -> None:
        """Put rows in place of a table that a model reads; a column that a row lacks is null."""
        table = pa.table(
            {column: pa.array([row.get(column) for row in rows], kind) for column, kind in columns.items()}
        )
        self._database.register("given_rows", table)
        self._database.execute(f'create or replace temp table "{name}" as from given_rows')

    def make(self, *models: str) -> None:
        """Run models one after the other; each stands as a table of its name."""
        for model in models:
            self._database.execute(f'create or replace temp table "{model}" as {self._model(model)}')

    def ask(self, query: str, **words: Any) -> Rows:
        """The rows of a query that may call macros and name what was given or made; `words` are its parameters."""
        sql = self._environment.from_string(query).render()
        result = self._database.execute(sql, words or None)
        names = [column[0] for column in result.description]
        return [dict(zip(names, row, strict=True)) for row in result.fetchall()]

    def replace(self, seed: str, query: str) -> None:
        """Put a query in the place of a seed, until `forget`; the seed itself is `memory.main.<seed>`."""
        self._database.execute(f'create or replace temp table "{seed}" as {query}')

    def forget(self, seed: str) -> None:
        """Let a seed be itself again."""
        self._database.execute(f'drop table temp."{seed}"')
