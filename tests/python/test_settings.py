"""Environment variables: what is taken, and the one sentence for what is not."""

import re
from pathlib import Path

import pytest
from assay.errors import AssayError
from assay.settings import RESERVED_NAMES, check_warehouse_path, memory, threads
from dbt_project import REPOSITORY


@pytest.mark.parametrize(
    ("environment", "expected"),
    [({}, None), ({"ASSAY_THREADS": ""}, None), ({"ASSAY_THREADS": "1"}, 1), ({"ASSAY_THREADS": "1024"}, 1024)],
)
def test_threads_are_a_number_of_processes_or_every_core(environment: dict[str, str], expected: int | None) -> None:
    assert threads(environment) == expected


@pytest.mark.parametrize("text", ["0", "-1", "abc", "1.5", "1e3", " 2", "+2", "٣", "1025", "9" * 5000, "\x1b[31m"])
def test_threads_of_another_form_are_one_sentence_that_names_the_variable(text: str) -> None:
    with pytest.raises(AssayError, match=r"^ASSAY_THREADS is .*: set it to a whole number from 1 to 1024") as error:
        threads({"ASSAY_THREADS": text})
    assert str(error.value).isprintable() and len(str(error.value)) < 200


@pytest.mark.parametrize("text", ["8GB", "60%", "100%", "1.5 GiB", "512MB", "0.5%"])
def test_memory_is_an_amount_or_a_share(text: str) -> None:
    assert memory({"ASSAY_MEMORY": text}) == text
    assert memory({}) is None


@pytest.mark.parametrize(
    "text", ["", "abc", "-5GB", "0GB", "0%", "101%", "5", "nan%", "inf", "1e9GB", "٣GB", "\x1b[31m"]
)
def test_memory_of_another_form_is_one_sentence_that_names_the_variable(text: str) -> None:
    with pytest.raises(AssayError, match=r"^ASSAY_MEMORY is .*: set it to an amount such as 8GB or 60%") as error:
        memory({"ASSAY_MEMORY": text})
    assert str(error.value).isprintable()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("credit.duckdb", "is a name inside the warehouse"),
        ("Landing.db", "is a name inside the warehouse"),
        ("main", "is a name inside the warehouse"),
        ("temp.duckdb", "is a name inside the warehouse"),
        ("system.duckdb", "is a name inside the warehouse"),
        ("it's.duckdb", "without quotes"),
        ('a".duckdb', "without quotes"),
        ("a\x1b[31m.duckdb", "without quotes and control characters"),
        ("", "which is a folder"),
        ("missing/a.duckdb", "its folder does not exist"),
    ],
)
def test_a_file_that_cannot_be_a_warehouse_is_one_sentence(tmp_path: Path, name: str, reason: str) -> None:
    with pytest.raises(AssayError, match=r"^ASSAY_DB is ") as error:
        check_warehouse_path(str(tmp_path / name))
    assert reason in str(error.value) and str(error.value).isprintable()


@pytest.mark.parametrize("path", ["", " ", ":memory:", "md:mine"])
def test_a_warehouse_is_a_file(path: str) -> None:
    with pytest.raises(AssayError, match=r"^ASSAY_DB is "):
        check_warehouse_path(path)


def test_a_warehouse_may_be_called_anything_else(tmp_path: Path) -> None:
    check_warehouse_path(str(tmp_path / "credits.duckdb"))
    check_warehouse_path("warehouse.duckdb")


def test_every_schema_of_the_project_is_reserved() -> None:
    schemas = set(re.findall(r"\+schema: (\w+)", (REPOSITORY / "dbt_project.yml").read_text()))
    assert schemas and schemas | {"landing"} <= RESERVED_NAMES
