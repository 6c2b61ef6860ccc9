"""The header of a safetensors file, checked before anything is allocated. Contract: gateway, section 4.

Layout: eight bytes little-endian header length, a JSON object of that length, then the tensors' bytes without gaps.
"""

import struct
from dataclasses import dataclass
from math import prod
from typing import Any, BinaryIO

from assay.landing.faults import RefusedError
from assay.landing.json_text import TextCounts, parse_object

MAX_HEADER_BYTES = 100_000_000

DTYPE_BITS = {
    **dict.fromkeys(("F64", "I64", "U64", "C64"), 64),
    **dict.fromkeys(("F32", "I32", "U32"), 32),
    **dict.fromkeys(("F16", "BF16", "I16", "U16"), 16),
    **dict.fromkeys(("F8_E4M3", "F8_E5M2", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ", "I8", "U8", "BOOL"), 8),
    **dict.fromkeys(("F6_E2M3", "F6_E3M2"), 6),
    "F4": 4,
}
"""The dtypes of the format and the bits of one value; those below a byte are packed without gaps."""


@dataclass(frozen=True)
class TensorHeader:
    """One tensor: name, dtype, shape, and its bytes' half-open range counted from the end of the header."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


def read_header(file: BinaryIO, size: int) -> tuple[int, dict[str, str], list[TensorHeader]]:
    """Return header length in bytes, metadata and tensors in file order; raise `RefusedError` when unsound."""
    prefix = file.read(8)
    if len(prefix) < 8:
        raise _fault(f"{len(prefix)} bytes are too few for a header length")
    (length,) = struct.unpack("<Q", prefix)
    if length > min(MAX_HEADER_BYTES, size - 8):
        raise _fault(f"header length {length} in a file of {size} bytes")
    try:
        header = parse_object(file.read(length), TextCounts())
    except RefusedError as fault:
        raise _fault(f"header: {fault}") from None
    metadata = header.pop("__metadata__", {})
    if type(metadata) is not dict or not all(type(value) is str for value in metadata.values()):
        raise _fault("__metadata__ is not an object of texts")
    # By the end as well: an empty tensor begins where its neighbour does.
    tensors = sorted(
        (_tensor(name, entry) for name, entry in header.items()), key=lambda tensor: (tensor.begin, tensor.end)
    )
    expected = 0
    for tensor in tensors:
        if tensor.begin != expected:
            raise _fault(f"tensor {tensor.name}: begins at {tensor.begin}, expected {expected}")
        expected = tensor.end
    if expected != size - 8 - length:
        raise _fault(f"tensors end at {expected}, the file has {size - 8 - length} bytes of tensors")
    return length, metadata, tensors


def _tensor(name: str, entry: Any) -> TensorHeader:
    if type(entry) is not dict or entry.keys() != {"dtype", "shape", "data_offsets"}:
        raise _fault(f"tensor {name[:80]}: expected dtype, shape and data_offsets")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if type(dtype) is not str or dtype not in DTYPE_BITS:
        raise _fault(f"tensor {name[:80]}: unknown dtype {str(dtype)[:20]!r}")
    if not _counts(shape) or not _counts(offsets) or len(offsets) != 2:
        raise _fault(f"tensor {name[:80]}: shape and data_offsets are arrays of whole numbers")
    begin, end = offsets
    if 8 * (end - begin) != prod(shape) * DTYPE_BITS[dtype]:
        raise _fault(f"tensor {name[:80]}: shape and dtype do not fill bytes {begin} to {end}")
    return TensorHeader(name, dtype, tuple(shape), begin, end)


def _counts(value: Any) -> bool:
    return type(value) is list and len(value) <= 64 and all(type(item) is int and 0 <= item < 2**48 for item in value)


def _fault(detail: str) -> RefusedError:
    return RefusedError("invalid_safetensors", detail)
