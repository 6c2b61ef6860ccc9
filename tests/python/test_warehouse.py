"""How the warehouse is opened, by dbt and by the command line."""

import re
from pathlib import Path

import duckdb
import pytest
import yaml
from assay.warehouse import open_for_reading
from dbt_project import REPOSITORY

EXTENSIONS = ("autoinstall_known_extensions", "autoload_known_extensions")


@pytest.mark.parametrize("name", ["warehouse.duckdb", "credit.duckdb", "main.duckdb", "it's mine.duckdb"])
def test_a_warehouse_opens_under_one_name_and_loads_no_extension(tmp_path: Path, name: str) -> None:
    path = str(tmp_path / name)
    with duckdb.connect() as made:
        made.execute("attach '{}' as made".format(path.replace("'", "''")))
        made.execute("create schema made.credit; create table made.credit.turns as select 1 as turn")
    with open_for_reading(path) as connection:
        assert connection.execute("select turn from credit.turns").fetchall() == [(1,)]
        assert connection.execute("select current_catalog()").fetchall() == [("warehouse",)]
        for setting in EXTENSIONS:
            assert connection.execute(f"select current_setting('{setting}')").fetchall() == [(False,)]
        with pytest.raises(duckdb.Error, match="read-only"):
            connection.execute("create table credit.mine (turn bigint)")


def test_dbt_opens_the_warehouse_without_extensions() -> None:
    profile = yaml.safe_load((REPOSITORY / "profiles.yml").read_text())["assay"]["outputs"]["dev"]
    assert profile["config_options"] == dict.fromkeys(EXTENSIONS, False)


def test_the_warehouse_is_opened_in_one_place() -> None:
    opening = {
        path.name
        for path in (REPOSITORY / "python").rglob("*.py")
        if re.search(r"\bduckdb\.connect\([^)]", path.read_text())
    }
    # A database in memory is not the warehouse; the plugin of dbt passes on the options of the profile.
    assert opening == {"warehouse.py", "warehouse_plugin.py"}
