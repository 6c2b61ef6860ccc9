"""Environment variables: what is taken, and the one sentence for what is not."""

import math
import re
from datetime import date
from pathlib import Path

import pytest
from assay.errors import AssayError
from assay.settings import (
    RESERVED_NAMES,
    VARS,
    check_vars,
    check_warehouse_path,
    memory,
    threads,
    vars_of_project,
    vars_of_words,
)
from dbt_project import REPOSITORY, RunDbt


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


def test_every_var_of_the_project_has_a_kind_and_a_default_that_fits() -> None:
    defaults = vars_of_project(REPOSITORY)
    assert len(defaults) > 25 and {*defaults, "raw_root"} == set(VARS)
    check_vars(defaults)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("deduplicate_references", value) for value in ("false", "true", 0, 1, None, [True], 0.0)),
        *(("drop_contaminated", value) for value in ("no", math.nan)),
        *(("max_row_tokens", value) for value in ("8192", "1e9", -1, 0, 1e9, math.nan, math.inf)),
        *(("max_row_tokens", value) for value in (True, None, [8192], 10**12)),
        *(("near_duplicate_similarity", value) for value in ("0.8", -0.1, 1.1, math.nan, None, True, [0.8])),
        *(("pair_score_gap", value) for value in ("0.2", -0.2, math.nan, math.inf, None, "no_such_column")),
        *(("turn_window_ends", value) for value in ([], 4, "4", [4, 4], [8, 4], [4, 8.0], [0, 4], [4, "8"], [4, None])),
        *(("corpus_epoch", value) for value in ("twelve", -1, 1.5, None, True, [13], "1;")),
        *(("chat_template_date", value) for value in ("today", "2025-13-01", "20250101", 2025, None)),
        *(("completion_cue", value) for value in (None, 5, ["a"], "a\nb", "\x1b[31m")),
        *(("bash_version", value) for value in (5.2, 5)),
        *(("raw_root", value) for value in ("", " ", None, 5, "a\0b")),
    ],
)
def test_a_var_of_another_kind_is_one_sentence_that_names_it(name: str, value: object) -> None:
    with pytest.raises(AssayError, match=f"^the var {name} is .*: give ") as error:
        check_vars({name: value})
    assert str(error.value).isprintable()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("deduplicate_references", True),
        ("max_row_tokens", 8192),
        ("near_duplicate_similarity", 1),
        ("pair_score_gap", 0.0),
        ("turn_window_ends", [1, 2, 50]),
        *(("corpus_epoch", value) for value in (13, "13", "", " 13 ")),
        *(("chat_template_date", value) for value in ("2026-02-28", date(2026, 2, 28))),
        ("completion_cue", ""),
        ("bash_version", "5.2"),
        ("raw_root", "elsewhere"),
    ],
)
def test_a_var_of_its_kind_is_taken(name: str, value: object) -> None:
    check_vars({name: value})


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("drop_contaminatd", "did you mean drop_contaminated?"),
        ("Deduplicate_references", "did you mean deduplicate_references?"),
        ("x", "dbt_project.yml has them all"),
        (5, "dbt_project.yml has them all"),
    ],
)
def test_an_unknown_var_is_one_sentence(name: object, answer: str) -> None:
    with pytest.raises(AssayError, match=re.escape(f"there is no var {name}: {answer}")):
        check_vars({name: True})


def test_words_of_vars_are_a_mapping() -> None:
    assert vars_of_words(["run", "--vars", "{a: 1}", "--select", "x"]) == {"a": 1}
    assert vars_of_words(["run", "--vars", "a: 1", "--vars=b: 'false'"]) == {"b": "false"}
    assert vars_of_words(["run"]) == {} == vars_of_words(["--vars", "{}"]) == vars_of_words(["--vars"])
    for words in ("a", "[1]", "{", "a: !!python/name:os.system", "5"):
        with pytest.raises(AssayError, match=r"^--vars is "):
            vars_of_words(["--vars", words])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            {"--vars": "{deduplicate_references: 'false'}"},
            "the var deduplicate_references is the text 'false': give true",
        ),
        ({"--vars": "{drop_contaminatd: true}"}, "there is no var drop_contaminatd: did you mean drop_contaminated?"),
        ({"ASSAY_DB": "landing.duckdb"}, "landing is a name inside the warehouse"),
        ({"ASSAY_DB": "it's.duckdb"}, "choose a path without quotes"),
        ({"ASSAY_THREADS": "1.5"}, "ASSAY_THREADS is 1.5: set it to a whole number"),
        ({"ASSAY_MEMORY": "-5GB"}, "ASSAY_MEMORY is -5GB: set it to an amount"),
        ({"ASSAY_EXPORTS": ""}, "ASSAY_EXPORTS is empty"),
    ],
)
def test_dbt_itself_says_it_before_anything_starts(
    run_dbt: RunDbt, tmp_path: Path, words: dict[str, str], said: str
) -> None:
    """`compile` stands for every command that opens the warehouse."""
    given = [word for name in ("--vars",) if name in words for word in (name, words[name])]
    variables = {name: value for name, value in words.items() if name.startswith("ASSAY_")}
    warehouse = tmp_path / variables.pop("ASSAY_DB", "warehouse.duckdb")
    done = run_dbt("compile", "--select", "int_pooled_references", *given, warehouse=warehouse, **variables)
    assert done.returncode != 0 and said in done.stdout, done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    assert not list(tmp_path.iterdir())
