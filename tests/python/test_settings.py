"""Environment variables: what is taken, and the one sentence for what is not."""

import pytest
from assay.errors import AssayError
from assay.settings import threads


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
