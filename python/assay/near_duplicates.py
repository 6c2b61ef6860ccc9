"""Which rows of the mixes say the same, and which must therefore share a split.

Exact duplicates by a hash of the normalised text, near-duplicates by MinHash (5-word shingles, 128 permutations) of the
trained text and of its context, each for itself; `datasketch` does the hashing and the lookup.
"""

import functools
import hashlib
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from datasketch import MinHash, MinHashLSH

DUPLICATES = pa.schema(
    [
        ("mix", pa.string()),
        ("row_id", pa.string()),
        ("row_hash", pa.string()),
        ("target_hash", pa.string()),
        ("n_shingles_target", pa.int64()),
        ("n_shingles_context", pa.int64()),
        ("near_duplicate_cluster", pa.string()),
        ("split_group", pa.string()),
    ]
)
"""One row a row of a mix, in order of mix and row id."""

SHINGLE_WORDS = 5
PERMUTATIONS = 128
BANDS = (16, 8)
"""16 bands of 8 find a pair of similarity 0.8 in 95 of 100 cases; what they find beyond that is compared and let go."""

_PIECE = 1 << 20
_CHARACTERS_KEPT = 16 << 20
_SHINGLES_AT_A_TIME = 1 << 13

Numbers = npt.NDArray[np.uint64]
Things = npt.NDArray[np.int64]


@dataclass(frozen=True)
class _Words:
    """A message's words: one digest over all of them, and a number for each."""

    digest: bytes
    numbers: npt.NDArray[np.uint32]


class _Reader:
    """Reads messages into words, and once alone what row after row begins with."""

    def __init__(self) -> None:
        self._read: dict[str, _Words] = {}
        self._characters = 0

    def words(self, content: str) -> _Words:
        found = self._read.get(content)
        if found is not None:
            return found
        digest = hashlib.blake2b(digest_size=16)
        numbers: list[npt.NDArray[np.uint32]] = [np.empty(0, np.uint32)]
        for words in words_of(content):
            encoded = [word.encode("utf-8", "surrogatepass") for word in words]
            digest.update(b" ".join(encoded) + b" ")
            numbers.append(np.fromiter(map(zlib.crc32, encoded), dtype=np.uint32, count=len(encoded)))
        found = _Words(digest.digest(), np.concatenate(numbers))
        if self._characters + len(content) > _CHARACTERS_KEPT:
            self._read.clear()
            self._characters = 0
        if len(content) <= _CHARACTERS_KEPT:
            self._read[content] = found
            self._characters += len(content)
        return found


@dataclass
class _Text:
    """A text that grows message by message."""

    digest: hashlib.blake2b = field(default_factory=lambda: hashlib.blake2b(digest_size=16))
    numbers: list[npt.NDArray[np.uint32]] = field(default_factory=lambda: [np.empty(0, np.uint32)])

    def add(self, words: _Words) -> None:
        self.digest.update(words.digest)
        self.numbers.append(words.numbers)

    def shingles(self) -> Numbers:
        return shingles(np.concatenate(self.numbers))


def words_of(text: str) -> Iterator[list[str]]:
    """The words of a text, white space apart, in lists that are never as long as a text may be."""
    for start in range(0, len(text), _PIECE):
        words = text[start : start + _PIECE].split()
        if words:
            yield words


def shingles(words: npt.NDArray[np.uint32]) -> Numbers:
    """The distinct numbers below 2^32 of every run of 5 words; a shorter text is one shingle, an empty one none."""
    if not len(words):
        return np.empty(0, np.uint64)
    width = min(SHINGLE_WORDS, len(words))
    mixed = np.zeros(len(words) - width + 1, np.uint64)
    for place in range(width):
        mixed *= np.uint64(0x9E3779B97F4A7C15)
        mixed += words[place : len(words) - width + 1 + place]
    return np.unique((mixed ^ (mixed >> np.uint64(29))) & np.uint64(0xFFFFFFFF))


@functools.cache
def _permutations() -> Any:
    """Drawn once from a fixed seed: every text is hashed alike, in every process."""
    return MinHash(num_perm=PERMUTATIONS, seed=1, scheme="affine32").permutations


def signature(numbers: Numbers) -> MinHash:
    """The MinHash of a set of shingles, in memory that does not grow with it."""
    hashed = MinHash(num_perm=PERMUTATIONS, hashfunc=int, scheme="affine32", permutations=_permutations())
    for start in range(0, len(numbers), _SHINGLES_AT_A_TIME):
        hashed.update_batch(numbers[start : start + _SHINGLES_AT_A_TIME].tolist())
    return hashed


class Groups:
    """Disjoint sets of numbered things; every set is named by its smallest member."""

    def __init__(self) -> None:
        """Begin without any."""
        self._parents = np.arange(1024)
        self._size = 0

    def add(self) -> int:
        """A new thing, alone in its set."""
        if self._size == len(self._parents):
            self._parents = np.append(self._parents, np.arange(self._size, 2 * self._size))
        self._size += 1
        return self._size - 1

    def names(self, things: Things) -> Things:
        """The smallest member of the set of each thing."""
        names = self._parents[things]
        while not np.array_equal(names, above := self._parents[names]):
            names = above
        self._parents[things] = names
        return names

    def name(self, thing: int) -> int:
        """The smallest member of its set."""
        while (above := int(self._parents[thing])) != thing:
            thing = above
        return thing

    def join(self, one: int, other: int) -> None:
        """Make one set of two."""
        low, high = sorted((self.name(one), self.name(other)))
        self._parents[high] = low


class _Neighbours:
    """Finds earlier texts of one kind that are similar, and joins their rows."""

    def __init__(self, similarity: float) -> None:
        self._similarity = similarity
        self._index = MinHashLSH(num_perm=PERMUTATIONS, params=BANDS)
        self._signatures = np.empty((1024, PERMUTATIONS), np.uint32)
        self._seen: dict[bytes, int] = {}

    def add(self, row: int, hashed: MinHash, groups: Groups) -> None:
        same = self._seen.setdefault(hashed.hashvalues.tobytes(), row)
        groups.join(same, row)
        if same != row:
            return
        found = np.array(self._index.query(hashed), np.int64)
        # Only those that are not yet in one set with the row are compared: a set of thousands would be, all with all.
        apart = found[groups.names(found) != groups.name(row)]
        equal = np.count_nonzero(self._signatures[apart] == hashed.hashvalues, axis=1)
        for other in np.unique(groups.names(apart[equal / PERMUTATIONS >= self._similarity])).tolist():
            groups.join(other, row)
        self._index.insert(row, hashed)
        while row >= len(self._signatures):
            self._signatures = np.concatenate([self._signatures, np.empty_like(self._signatures)])
        self._signatures[row] = hashed.hashvalues


def duplicate_rows(
    batches: Iterable[pa.RecordBatch], instances: dict[tuple[str, str], str], similarity: float, fewest_shingles: int
) -> pa.Table:
    """Return `DUPLICATES` for rows that come as messages.

    `batches` have the columns mix, row_id, role, train and content; the messages of a row follow each other in order.
    `instances` gives the task of every (mix, row_id). Two texts are near when their estimated Jaccard similarity is at
    least `similarity`; one of fewer than `fewest_shingles` shingles is near to nothing, since a short command has many
    owners. A `split_group` holds whatever is linked by a task, an exact duplicate or a near-duplicate cluster; groups
    and clusters are named by their first row. The result does not depend on the order of the rows.
    """
    keys: list[tuple[str, str]] = []
    facts: list[tuple[str, str, int, int]] = []
    reader = _Reader()
    clusters, splits = Groups(), Groups()
    kinds = (_Neighbours(similarity), _Neighbours(similarity))
    firsts: dict[str, int] = {}
    for key, messages in groupby(_messages(batches), key=lambda message: message[0]):
        row = clusters.add()
        splits.add()
        whole, target, context = hashlib.blake2b(digest_size=16), _Text(), _Text()
        for _, role, train, content in messages:
            words = reader.words(content)
            whole.update(role.encode("utf-8", "surrogatepass") + b"\0" + words.digest)
            if train:
                target.add(words)
            elif role != "system":
                # A system message is the harness's own and the same everywhere.
                context.add(words)
        numbers = (target.shingles(), context.shingles())
        for neighbours, shingle_numbers in zip(kinds, numbers, strict=True):
            if len(shingle_numbers) >= fewest_shingles:
                neighbours.add(row, signature(shingle_numbers), clusters)
        row_hash = whole.hexdigest()
        clusters.join(firsts.setdefault(f"row {row_hash}", row), row)
        splits.join(firsts.setdefault(f"instance {instances[key]}", row), row)
        keys.append(key)
        facts.append((row_hash, target.digest.hexdigest(), len(numbers[0]), len(numbers[1])))
    for row in range(len(keys)):
        splits.join(clusters.name(row), row)
    cluster_names = _first_row_ids(clusters, keys)
    split_names = _first_row_ids(splits, keys)
    rows = sorted(
        (*key, *facts[row], cluster_names[clusters.name(row)], split_names[splits.name(row)])
        for row, key in enumerate(keys)
    )
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(DUPLICATES)
    return pa.table(
        [pa.array(column, kind.type) for column, kind in zip(columns, DUPLICATES, strict=True)], schema=DUPLICATES
    )


def _messages(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[tuple[str, str], str, bool, str]]:
    for batch in batches:
        columns = [batch.column(name) for name in ("mix", "row_id", "role", "train", "content")]
        # One message at a time: a list of all texts of a batch would hold them twice.
        for place in range(batch.num_rows):
            mix, row_id, role, train, content = (column[place].as_py() for column in columns)
            yield (mix, row_id), role or "", bool(train), content or ""


def _first_row_ids(groups: Groups, keys: list[tuple[str, str]]) -> dict[int, str]:
    names: dict[int, str] = {}
    for row, (_, row_id) in enumerate(keys):
        name = groups.name(row)
        names[name] = min(names.get(name, row_id), row_id)
    return names
