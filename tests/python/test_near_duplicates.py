"""Near-duplicates of rows, and the groups that must share a split."""

import random
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from assay.near_duplicates import Groups, duplicate_rows, shingles, signature, words_of

Message = tuple[str, str, str, bool, str]

SCHEMA = pa.schema(
    [
        ("mix", pa.string()),
        ("row_id", pa.string()),
        ("role", pa.string()),
        ("train", pa.bool_()),
        ("content", pa.string()),
    ]
)


def batches(messages: Sequence[Message], size: int = 3) -> list[pa.RecordBatch]:
    columns = [pa.array(column, field.type) for column, field in zip(zip(*messages, strict=True), SCHEMA, strict=True)]
    return list(pa.table(columns, schema=SCHEMA).to_batches(max_chunksize=size))


def text(seed: int, words: int = 200) -> str:
    generator = random.Random(seed)
    return " ".join(f"w{generator.randrange(5000)}" for _ in range(words))


def row(row_id: str, context: str, target: str, mix: str = "credit") -> list[Message]:
    return [(mix, row_id, "user", False, context), (mix, row_id, "assistant", True, target)]


def found(messages: Sequence[Message], instances: dict[str, str] | None = None) -> dict[str, dict[str, object]]:
    tasks = {(mix, row_id): (instances or {}).get(row_id, row_id) for mix, row_id, *_ in messages}
    return {line["row_id"]: line for line in duplicate_rows(batches(messages), tasks, 0.8, 50).to_pylist()}


def changed(original: str, every: int) -> str:
    """The text with every so-manyth word exchanged."""
    return " ".join("other" if place % every == 0 else word for place, word in enumerate(original.split(), 1))


def test_rows_without_anything_in_common_stand_alone() -> None:
    rows = found([*row("a", text(1), text(2)), *row("b", text(3), text(4))])
    assert [rows[name]["split_group"] for name in "ab"] == ["a", "b"]
    assert [rows[name]["near_duplicate_cluster"] for name in "ab"] == ["a", "b"]


@pytest.mark.parametrize("part", ["target", "context"])
def test_a_text_that_is_nearly_the_same_links_rows_of_two_mixes_by_target_or_by_context_alone(part: str) -> None:
    long = text(1, 1000)
    near = changed(long, 200)
    one, other = ((text(5), long), (text(6), near)) if part == "target" else ((long, text(5)), (near, text(6)))
    rows = found([*row("a", *one), *row("b", *other, mix="escape_duel")])
    assert rows["a"]["near_duplicate_cluster"] == rows["b"]["near_duplicate_cluster"] == "a"
    assert rows["a"]["split_group"] == rows["b"]["split_group"] == "a"


def test_a_text_that_shares_half_of_its_shingles_is_no_near_duplicate() -> None:
    long = text(1, 1000)
    rows = found([*row("a", text(5), long), *row("b", text(6), changed(long, 12))])
    assert rows["b"]["near_duplicate_cluster"] == "b"


def test_short_targets_have_many_owners_and_link_nothing() -> None:
    rows = found([*row("a", text(5), "ls -la"), *row("b", text(6), "ls -la")])
    assert rows["a"]["target_hash"] == rows["b"]["target_hash"]
    assert rows["a"]["split_group"] != rows["b"]["split_group"]


def test_exact_duplicates_are_found_however_short_and_white_space_apart() -> None:
    rows = found([*row("a", "fix  it", "ls\n-la"), *row("b", "fix it", "ls -la "), *row("c", "fix it", "ls -l")])
    assert rows["a"]["row_hash"] == rows["b"]["row_hash"] != rows["c"]["row_hash"]
    assert rows["a"]["split_group"] == rows["b"]["split_group"] == "a"
    assert rows["c"]["split_group"] == "c"


def test_the_same_words_under_other_roles_are_another_row() -> None:
    rows = found([("credit", "a", "user", False, "x"), ("credit", "b", "system", False, "x")])
    assert rows["a"]["row_hash"] != rows["b"]["row_hash"]


def test_a_group_is_what_tasks_and_clusters_link_together_in_any_number_of_steps() -> None:
    """a and b share a task, b and c a target, c and d a task: one group, and e stays outside."""
    same = text(9, 400)
    messages = [
        *row("a", text(1), text(2)),
        *row("b", text(3), same),
        *row("c", text(4), same),
        *row("d", text(5), text(6)),
        *row("e", text(7), text(8)),
    ]
    rows = found(messages, {"a": "t1", "b": "t1", "c": "t2", "d": "t2", "e": "t3"})
    assert [rows[name]["split_group"] for name in "abcde"] == ["a", "a", "a", "a", "e"]
    assert [rows[name]["near_duplicate_cluster"] for name in "abcde"] == ["a", "b", "b", "d", "e"]


def test_the_harness_own_system_message_links_nothing() -> None:
    system = text(1, 2000)
    messages: list[Message] = []
    for name, seed in (("a", 2), ("b", 3)):
        messages += [("credit", name, "system", False, system), *row(name, text(seed), text(seed + 10))]
    rows = found(messages)
    assert rows["a"]["split_group"] != rows["b"]["split_group"]


def test_neither_the_order_of_rows_nor_the_size_of_batches_changes_the_result() -> None:
    same = text(9, 400)
    pieces = [row(str(number), text(number), same if number % 3 == 0 else text(100 + number)) for number in range(12)]
    tasks = {("credit", str(number)): f"t{number // 2}" for number in range(12)}
    forward = [message for piece in pieces for message in piece]
    backward = [message for piece in reversed(pieces) for message in piece]
    first = duplicate_rows(batches(forward, 1), tasks, 0.8, 50)
    assert first.equals(duplicate_rows(batches(backward, 7), tasks, 0.8, 50))
    assert first.equals(duplicate_rows(batches(forward, 100), tasks, 0.8, 50))


def test_no_rows_make_an_empty_table_of_the_same_columns() -> None:
    empty = duplicate_rows([], {}, 0.8, 50)
    assert empty.num_rows == 0
    assert empty.schema == duplicate_rows(batches(row("a", "x", "y")), {("credit", "a"): "t"}, 0.8, 50).schema


@pytest.mark.parametrize("content", ["", " \n\t", "\0", "\ud83d lone", "x" * 3_000_000, "word " * 1_000_000])
def test_odd_and_long_texts_are_hashed_like_any_other(content: str) -> None:
    safe = content.encode("utf-8", "replace").decode()
    rows = found([*row("a", safe, safe), *row("b", safe, safe)])
    assert rows["a"]["row_hash"] == rows["b"]["row_hash"]


def test_the_estimate_is_near_the_true_similarity() -> None:
    long = text(1, 3000)
    other = changed(long, 25)
    one, two = (shingles(np.array([hash_of(word) for word in value.split()], np.uint32)) for value in (long, other))
    true = len(np.intersect1d(one, two)) / len(np.union1d(one, two))
    estimate = signature(one).jaccard(signature(two))
    assert 0.5 < true < 0.8
    assert estimate == pytest.approx(true, abs=0.12)


def hash_of(word: str) -> int:
    return int(word[1:]) if word.startswith("w") else 99999


def test_a_text_of_fewer_words_than_a_shingle_is_one_shingle_and_an_empty_one_none() -> None:
    assert len(shingles(np.array([1, 2], np.uint32))) == 1
    assert len(shingles(np.array([], np.uint32))) == 0
    assert len(shingles(np.array([1, 2, 3, 4, 5, 6], np.uint32))) == 2


def test_words_come_in_pieces_that_do_not_grow_with_the_text() -> None:
    pieces = list(words_of("word " * 1_000_000))
    assert len(pieces) > 1
    assert max(map(len, pieces)) < 300_000


def test_sets_are_named_by_their_smallest_member() -> None:
    groups = Groups()
    for _ in range(5):
        groups.add()
    groups.join(3, 4)
    groups.join(4, 1)
    assert [groups.name(thing) for thing in range(5)] == [0, 1, 2, 1, 1]
