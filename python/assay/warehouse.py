"""How a built warehouse is opened outside dbt: for reading, under one name, and without code from elsewhere."""

import duckdb


def open_for_reading(path: str) -> duckdb.DuckDBPyConnection:
    """Attach the file of a path as `warehouse`, whatever it is called; raise `duckdb.Error` if it does not open.

    As `config_options` in profiles.yml: DuckDB neither installs nor loads extensions by itself.
    """
    connection = duckdb.connect(config={"autoinstall_known_extensions": False, "autoload_known_extensions": False})
    try:
        connection.execute("attach '{}' as warehouse (read_only)".format(path.replace("'", "''")))
        connection.execute("use warehouse")
    except duckdb.Error:
        connection.close()
        raise
    return connection
