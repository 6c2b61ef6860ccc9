"""Which turns an explanation cites. Source: definitions (cited turns)."""

import pyarrow as pa
import pytest
from assay.citations import LARGEST_NUMBER, cite, cited_turns


@pytest.mark.parametrize(
    ("explanation", "strict", "extended"),
    [
        ("CANDIDATE OUTPUT 1 shows it.", [1], []),
        ("CANDIDATE OUTPUT 3 and CANDIDATE OUTPUT 2, and CANDIDATE OUTPUT 3 again", [2, 3], []),
        ("candidate output 4", [], [4]),
        ("CANDIDATE OUTPUTS 1-3 establish it.", [], [1, 2, 3]),
        ("outputs 2–4", [], [2, 3, 4]),
        ("CANDIDATE OUTPUTS 2 to 4", [], [2, 3, 4]),
        ("CANDIDATE OUTPUT 1, 4", [1], [4]),
        ("CANDIDATE OUTPUT 3 and 5", [3], [5]),
        ("output 2", [], [2]),
        ("CANDIDATE OUTPUT without a number", [], []),
        ("Backed by the code shown on line 12.", [], []),
        ("CANDIDATE OUTPUT 99", [99], []),
        ("CANDIDATE OUTPUT 12 through CANDIDATE OUTPUT 14", [12, 14], [13]),
        ("", [], []),
    ],
)
def test_strict_reads_the_exact_words_and_extended_the_rest(
    explanation: str, strict: list[int], extended: list[int]
) -> None:
    cited = cited_turns(explanation)
    assert [turn for turn, form in cited.items() if form == "strict"] == strict
    assert [turn for turn, form in cited.items() if form == "extended"] == extended


def test_a_range_asks_for_no_more_than_a_side_can_have() -> None:
    assert cited_turns("CANDIDATE OUTPUTS 1-999999999") == {1: "extended", 999999999: "extended"}
    assert cited_turns("CANDIDATE OUTPUT " + "9" * 500) == {LARGEST_NUMBER: "strict"}


def test_a_batch_keeps_its_other_columns_once_a_cited_turn() -> None:
    batch = pa.record_batch({"question_id": ["a", "b", "c"], "explanation": ["CANDIDATE OUTPUTS 1 and 2", None, "no"]})
    assert cite(batch).to_pylist() == [
        {"question_id": "a", "turn": 1, "form": "extended"},
        {"question_id": "a", "turn": 2, "form": "extended"},
    ]
