"""A dbt-duckdb plugin that looks at the warehouse file before it is opened for good.

The adapter shows DuckDB's own exception with a traceback; a `RuntimeError` raised here it shows as one sentence.
The adapter calls plugins by these method names alone, so no part of dbt is imported.
"""

import dataclasses
import re
import sys
from pathlib import Path
from typing import Any

import duckdb

from assay.errors import AssayError
from assay.provenance.code import Code, code_of
from assay.settings import check, check_vars, vars_of_project, vars_of_words

_HOLDER = re.compile(r"Conflicting lock is held in (?P<program>.*?) \(PID (?P<process>\d+)\)")


class Plugin:
    """Named by `plugins:` in profiles.yml."""

    def __init__(self, name: str, plugin_config: dict[str, Any], credentials: Any = None) -> None:
        """Take what the adapter passes; there is nothing to configure."""
        self.name = name

    def update_connection_config(self, credentials: Any, config: dict[str, Any]) -> None:
        """Check the environment, open and close the warehouse; raise `RuntimeError` with one sentence on a fault."""
        try:
            check(credentials.path)
            # dbt works in the folder of the project, and tells nobody but models which vars it was given.
            check_vars({**vars_of_project(Path.cwd()), **vars_of_words(sys.argv)})
        except AssayError as error:
            raise RuntimeError(str(error)) from None
        try:
            duckdb.connect(credentials.path, config=config).close()
        except duckdb.Error as error:
            raise RuntimeError(describe(credentials.path, str(error))) from None

    def configure_connection(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Tell SQL which code is running: `assay_code()`, for the record of the build."""
        fields = dict.fromkeys((field.name for field in dataclasses.fields(Code)), "varchar")
        # dbt works in the folder of the project.
        connection.create_function(
            "assay_code", lambda: dataclasses.asdict(code_of(Path.cwd())), [], duckdb.struct_type(fields)
        )

    def configure_cursor(self, cursor: duckdb.DuckDBPyConnection) -> None:
        """Leave the cursor as it is."""


def describe(path: str, words: str) -> str:
    """One sentence for a person from DuckDB's words about a file that does not open."""
    holder = _HOLDER.search(words)
    if holder:
        return (
            f"the warehouse {path} is in use by process {holder['process']} ({holder['program']}): "
            "close that session, or set ASSAY_DB to another file"
        )
    reason = words.partition("\n")[0].removeprefix("IO Error: ").rstrip(".")
    return f"the warehouse {path} cannot be opened: {reason}"
