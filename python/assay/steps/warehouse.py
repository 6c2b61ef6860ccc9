"""Steps and the warehouse: tables that steps take and make, and the one way in which a fault reaches the user."""

import functools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Concatenate, ParamSpec

import duckdb
import pyarrow as pa

from assay.errors import AssayError
from assay.steps.writing import whole, writing

SCHEMA = "landing"
INPUT_FOLDER = "step_input"
_FOLDER_ENDING = ".landing"

Parameters = ParamSpec("Parameters")
Relation = duckdb.DuckDBPyRelation


def step_of_a_model(
    schema: pa.Schema,
) -> Callable[
    [Callable[Concatenate[duckdb.DuckDBPyConnection, Parameters], Relation]],
    Callable[Concatenate[duckdb.DuckDBPyConnection, str, Parameters], Relation],
]:
    """Decorate a function of a session that a Python model calls: it then takes (session, name of the model, …).

    An AssayError is left in the warehouse, where the model's post-hook `stop_on_fault` looks for it, and the result is
    an empty table of `schema`: a model that raised would show the user a traceback.
    """

    def decorate(
        step: Callable[Concatenate[duckdb.DuckDBPyConnection, Parameters], Relation],
    ) -> Callable[Concatenate[duckdb.DuckDBPyConnection, str, Parameters], Relation]:
        @functools.wraps(step)
        def guarded(
            session: duckdb.DuckDBPyConnection, model: str, /, *arguments: Parameters.args, **named: Parameters.kwargs
        ) -> Relation:
            # A row a model: two models may be built at the same time. Schema and table are made before any step begins
            # (`on-run-start`), since two steps that make them at once would fail each other.
            session.execute(f"delete from {SCHEMA}.faults where model = ?", [model])
            try:
                return step(session, *arguments, **named)
            except AssayError as error:
                session.execute(f"insert into {SCHEMA}.faults values (?, ?)", [model, str(error)])
                return session.from_arrow(schema.empty_table())

        return guarded

    return decorate


def hand_over(folder: str, name: str, relation: duckdb.DuckDBPyRelation) -> Path:
    """Write what a step takes as a parquet file that its process can read, and return the path."""
    path = Path(folder) / INPUT_FOLDER / f"{name}.parquet"
    with writing(Path(folder)):
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole(path) as parts:
            relation.write_parquet(str(parts[0]), compression="zstd")
    return path


def publish(session: duckdb.DuckDBPyConnection, folder: str, names: Iterable[str]) -> None:
    """(Re)create a view for every named sub-folder of parquet files.

    A folder `<warehouse>.landing` is looked for beside the warehouse wherever that lies when it is opened: DuckDB's
    default folder for temporary files is `<warehouse>.tmp`, by its absolute path. Where the warehouse is open under
    another name (attached, or copied without its landed files), the view reads the folder it was made for.
    """
    root = Path(folder).resolve()
    place = _quoted(str(root))
    warehouse = root.name.removesuffix(_FOLDER_ENDING)
    if warehouse != root.name:
        temporary = "current_setting('temp_directory')"
        beside = f"left({temporary}, -{len('.tmp')}) || '{_FOLDER_ENDING}'"
        place = f"if(ends_with({temporary}, {_quoted(f'/{warehouse}.tmp')}), {beside}, {place})"
    # In a pattern, a path must mean this path alone.
    place = rf"regexp_replace({place}, '([\[*?])', '[\1]', 'g')"
    for name in names:
        files = f"{place} || {_quoted(f'/{name}/*.parquet')}"
        session.execute(f"create or replace view {SCHEMA}.{name} as select * from read_parquet({files})")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
