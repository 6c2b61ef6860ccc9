"""Many JSON lines to columns at once, where nothing in them can be refused or repaired.

Long texts go from the file's bytes to Arrow without a Python object in between. Arrow's reader refuses what it was
not told to expect (another field, another type, a repeated key, a lone surrogate, a control character), which makes
it the proof as well: whatever is not proven here is read line by line, and only there it is said what is wrong.
"""

from collections.abc import Iterable, Sequence

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.json as pj

_MOST_BYTES = 1 << 30
"""More than this would come near the 2 GiB that one Arrow column of text may hold."""

_ONE_VALUE = msgspec.json.Decoder(type=msgspec.Raw)


def read_lines(lines: Sequence[bytes], fields: pa.Schema) -> pa.RecordBatch | None:
    """One row a line with a column a field (null where a line lacks it), or None where the lines are not proven clean.

    Clean: every line is one JSON object that holds only these fields, none twice and each of its type, in valid
    UTF-8 without lone surrogates.
    """
    n_bytes = sum(map(len, lines))
    if n_bytes > _MOST_BYTES or not all(map(_is_one_object, lines)):
        return None
    try:
        table = pj.read_json(
            pa.BufferReader(b"\n".join(lines)),
            # A block that is longer than the text: rows are never cut, and come in order.
            pj.ReadOptions(use_threads=False, block_size=n_bytes + len(lines) + 1),
            pj.ParseOptions(explicit_schema=fields, unexpected_field_behavior="error"),
        )
        table.validate(full=True)
    except (pa.ArrowException, UnicodeDecodeError):
        return None
    if table.num_rows != len(lines):
        return None
    (batch,) = table.combine_chunks().to_batches()
    return batch


def count_nul_characters(batch: pa.RecordBatch) -> int:
    """The NUL characters of all texts of a batch, inside lists and structs too."""
    return sum(map(_nul_characters, _texts(batch.columns)))


def _is_one_object(line: bytes) -> bool:
    """Arrow's reader takes several values a line, and does not survive a bare null."""
    if not line.startswith(b"{"):
        return False
    try:
        _ONE_VALUE.decode(line)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return False
    return True


def _texts(columns: Iterable[pa.Array]) -> Iterable[pa.Array]:
    for column in columns:
        if pa.types.is_string(column.type):
            yield column
        elif pa.types.is_list(column.type):
            yield from _texts([column.flatten()])
        elif pa.types.is_struct(column.type):
            yield from _texts(column.flatten())


def _nul_characters(texts: pa.Array) -> int:
    _, offsets, data = texts.buffers()
    if data is None or not len(texts):
        return 0
    bounds = np.frombuffer(offsets, np.int32, len(texts) + 1, 4 * texts.offset)
    characters = np.frombuffer(data, np.uint8)[bounds[0] : bounds[-1]]
    return len(characters) - int(np.count_nonzero(characters))
