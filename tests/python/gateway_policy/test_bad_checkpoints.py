"""A file that is no policy: one sentence that names file and tensor, and nothing allocated on its word."""

import json
import os
import struct
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from policy_files import SMALL, as_stored, policy_tensors, write_header, write_safetensors

from scaffold.model_np import CheckpointError, load


def _header(stored: Any = None) -> tuple[dict[str, Any], bytes]:
    header: dict[str, Any] = {"__metadata__": dict(SMALL)}
    data = b""
    for name, (dtype, shape, content) in (stored or as_stored(policy_tensors())).items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    return header, data


def _changed(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], Path]:
    def write(path: Path) -> Path:
        header, data = _header()
        change(header)
        return write_header(path, header, data)

    return write


def _raw(content: bytes) -> Callable[[Path], Path]:
    def write(path: Path) -> Path:
        path.write_bytes(content)
        return path

    return write


def _cut(path: Path) -> Path:
    write_safetensors(path, as_stored(policy_tensors()), SMALL)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    return path


def _longer(path: Path) -> Path:
    write_safetensors(path, as_stored(policy_tensors()), SMALL)
    path.write_bytes(path.read_bytes() + b"\0")
    return path


def _with_value(name: str, value: float, dtype: str = "F32") -> Callable[[Path], Path]:
    def write(path: Path) -> Path:
        tensors = {key: tensor.astype(np.float64) for key, tensor in policy_tensors().items()}
        tensors[name].flat[3] = value
        return write_safetensors(path, as_stored(tensors, dtype), SMALL)

    return write


def _twice(path: Path) -> Path:
    encoded = b'{"tok_emb": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}, "tok_emb": {}}'
    path.write_bytes(struct.pack("<Q", len(encoded)) + encoded)
    return path


CASES: dict[str, tuple[Callable[[Path], Path], str]] = {
    "an empty file": (_raw(b""), "0 bytes are too few for a header length"),
    "a header length of 2^62": (_raw(struct.pack("<Q", 2**62) + b"{}"), f"states a header of {2**62} bytes in a file"),
    "a header that is no JSON": (_raw(struct.pack("<Q", 3) + b"{{{"), "the header is not JSON"),
    "a header that is a list": (_raw(struct.pack("<Q", 2) + b"[]"), "the header is not an object"),
    "a deep header": (_raw(struct.pack("<Q", 200_000) + b"[" * 200_000), "the header is not JSON"),
    "a header that is not UTF-8": (_raw(struct.pack("<Q", 2) + b"\xff\xfe"), "the header is not JSON"),
    "a name twice": (_twice, "'tok_emb' occurs twice"),
    "half a file": (_cut, "tensor layers.0.attn.qkv.weight: ends at byte"),
    "a byte too many": (_longer, "tensors end at"),
    "overlapping offsets": (
        _changed(lambda header: header["pos_emb"].update(data_offsets=[0, 768])),
        "tensor tok_emb: overlaps its neighbour",
    ),
    "offsets with a gap": (
        _changed(lambda header: header.pop("pos_emb")),
        "tensor layers.0.ln1.weight: leaves a gap",
    ),
    "short offsets": (
        _changed(lambda header: header["tok_emb"].update(data_offsets=[0, 4])),
        "tensor tok_emb: shape [72, 8] of F32 needs 2304 bytes, its offsets 0 to 4 hold 4",
    ),
    "backward offsets": (
        _changed(lambda header: header["tok_emb"].update(data_offsets=[2304, 0])),
        "tensor tok_emb: shape",
    ),
    "negative offsets": (
        _changed(lambda header: header["tok_emb"].update(data_offsets=[-1, 2303])),
        "tensor tok_emb: shape and data_offsets must be short lists of whole numbers",
    ),
    "a shape of a terabyte": (
        _changed(lambda header: header["tok_emb"].update(shape=[2**40, 2**40])),
        "tensor tok_emb: shape",
    ),
    "a true as size": (
        _changed(lambda header: header["ln_f.bias"].update(shape=[True])),
        "tensor ln_f.bias: shape and data_offsets",
    ),
    "a transposed shape": (
        _changed(lambda header: header["tok_emb"].update(shape=[8, 72])),
        "tensor tok_emb: has shape (8, 72), expected (72, 8)",
    ),
    "a missing tensor": (
        _changed(lambda header: header.update(tail=header.pop("head.bias"))),
        "tensor head.bias: is missing",
    ),
    "more layers than there are": (
        _changed(lambda header: header["__metadata__"].update(n_layers="999999")),
        "tensor layers.1.ln1.weight: is missing",
    ),
    "a width that is no number": (
        _changed(lambda header: header.update(__metadata__={**SMALL, "d_model": "1e3"})),
        "metadata d_model is '1e3'",
    ),
    "heads that do not divide the width": (
        _changed(lambda header: header.update(__metadata__={**SMALL, "n_heads": "3"})),
        "d_model 8 cannot be shared by 3 heads",
    ),
    "metadata that is no text": (
        _changed(lambda header: header.update(__metadata__={"d_model": 8})),
        "__metadata__ is not an object of texts",
    ),
    **{
        f"the dtype {dtype}": (
            _changed(lambda header, dtype=dtype: header["tok_emb"].update(dtype=dtype)),  # type: ignore[misc]
            f"tensor tok_emb: {dtype!r} is not a dtype the sampler computes with (F64, F32, F16, BF16)",
        )
        for dtype in ("F8_E4M3", "F8_E8M0", "F8_E4M3FNUZ", "F4", "C64", "X9")
    },
    "NaN weights": (_with_value("pos_emb", float("nan")), "tensor pos_emb: holds a value that is not a finite"),
    "infinite weights": (_with_value("head.bias", float("inf"), "F16"), "tensor head.bias: holds a value"),
    "doubles beyond float": (_with_value("ln_f.bias", 1e300, "F64"), "tensor ln_f.bias: holds a value"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_bad_file_is_one_sentence(case: str, tmp_path: Path) -> None:
    write, words = CASES[case]
    path = write(tmp_path / "bad.safetensors")
    with pytest.raises(CheckpointError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_a_file_claims_is_not_allocated(tmp_path: Path) -> None:
    header, data = _header()
    header["tok_emb"] = {"dtype": "F32", "shape": [2**30, 8], "data_offsets": [0, 2**35]}
    path = write_header(tmp_path / "claims.safetensors", header, data)
    tracemalloc.start()
    with pytest.raises(CheckpointError, match=r"tensor tok_emb: ends at byte 34359738368|tensor pos_emb: overlaps"):
        load(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 << 20


def test_no_file_a_folder_and_a_pipe_are_one_sentence(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.safetensors")
    (tmp_path / "folder.safetensors").mkdir()
    for name, words in (
        ("pipe.safetensors", "is not a regular file"),
        ("folder.safetensors", "is not a regular file"),
        ("nothing.safetensors", "cannot be read: No such file or directory"),
    ):
        with pytest.raises(CheckpointError, match=words):
            load(tmp_path / name)


def test_tensors_of_others_are_left_unread(tmp_path: Path) -> None:
    stored = as_stored(policy_tensors())
    stored["optimizer.step"] = ("F32", [1], np.array([np.nan], "<f4").tobytes())
    load(write_safetensors(tmp_path / "more.safetensors", stored, SMALL))


def test_a_large_header_is_not_read(tmp_path: Path) -> None:
    encoded = json.dumps({"__metadata__": {"note": "x" * (2 << 20)}}).encode()
    path = tmp_path / "wordy.safetensors"
    path.write_bytes(struct.pack("<Q", len(encoded)) + encoded)
    with pytest.raises(CheckpointError, match="more than 1048576"):
        load(path)


def test_a_name_twice_among_many_is_found_at_once(tmp_path: Path) -> None:
    names = [f'"{number}":0' for number in range(90_000)]
    encoded = ("{" + ",".join([*names, names[-1]]) + "}").encode()
    path = tmp_path / "names.safetensors"
    path.write_bytes(struct.pack("<Q", len(encoded)) + encoded)
    started = time.process_time()
    with pytest.raises(CheckpointError, match="'89999' occurs twice"):
        load(path)
    assert time.process_time() - started < 5
