"""The README tells the truth: every question in it runs on the bundled sample and has an answer."""

import re
from pathlib import Path

import duckdb
import pytest

QUESTIONS = re.findall(
    r"^([^\n]+\?[^\n]*)\n\n```sql\n(.+?)```",
    (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8"),
    re.MULTILINE | re.DOTALL,
)


def test_every_question_is_found() -> None:
    assert len(QUESTIONS) == 13


@pytest.mark.parametrize(("question", "sql"), QUESTIONS)
def test_a_question_of_the_readme_has_an_answer(sample_warehouse: Path, question: str, sql: str) -> None:
    with duckdb.connect(str(sample_warehouse), read_only=True) as connection:
        assert connection.sql(sql.strip().rstrip(";")).fetchall(), question
