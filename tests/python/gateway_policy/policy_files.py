"""Policies of the contract's shapes, and files of them whose every part can be made wrong."""

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np

FIXTURE = Path(__file__).parents[2] / "fixtures" / "raw" / "gateway" / "compliance-batch"

Tensors = dict[str, tuple[str, list[int], bytes]]


def policy_tensors(width: int = 8, layers: int = 1, seed: int = 0) -> dict[str, np.ndarray[Any, Any]]:
    """A random policy of the contract's shapes."""
    generator = np.random.default_rng(seed)

    def draw(*shape: int) -> np.ndarray[Any, Any]:
        return generator.normal(0, 0.3, shape).astype(np.float32)

    tensors = {"tok_emb": draw(72, width), "pos_emb": draw(24, width)}
    for layer in range(layers):
        start = f"layers.{layer}."
        for norm in ("ln1", "ln2"):
            tensors[f"{start}{norm}.weight"] = 1 + draw(width)
            tensors[f"{start}{norm}.bias"] = draw(width)
        for name, rows, columns in (
            ("attn.qkv", 3 * width, width),
            ("attn.proj", width, width),
            ("mlp.fc1", 4 * width, width),
            ("mlp.fc2", width, 4 * width),
        ):
            tensors[f"{start}{name}.weight"] = draw(rows, columns)
            tensors[f"{start}{name}.bias"] = draw(rows)
    tensors |= {"ln_f.weight": 1 + draw(width), "ln_f.bias": draw(width)}
    return tensors | {"head.weight": draw(72, width), "head.bias": draw(72)}


def as_stored(tensors: dict[str, np.ndarray[Any, Any]], dtype: str = "F32") -> Tensors:
    """Name to (dtype, shape, bytes) in one of the four formats."""
    stored: Tensors = {}
    for name, tensor in tensors.items():
        if dtype == "BF16":
            data = (np.ascontiguousarray(tensor, np.float32).view(np.uint32) >> 16).astype("<u2").tobytes()
        else:
            data = tensor.astype({"F32": "<f4", "F16": "<f2", "F64": "<f8"}[dtype]).tobytes()
        stored[name] = (dtype, list(tensor.shape), data)
    return stored


def write_safetensors(path: Path, stored: Tensors, metadata: dict[str, str] | None = None) -> Path:
    """Write a file of the format by hand, so that every part of it can be made wrong."""
    header: dict[str, Any] = {"__metadata__": metadata} if metadata else {}
    data = b""
    for name, (dtype, shape, content) in stored.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    return write_header(path, header, data)


def write_header(path: Path, header: dict[str, Any], data: bytes) -> Path:
    encoded = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(encoded)) + encoded + data)
    return path


SMALL = {"d_model": "8", "n_heads": "2", "n_layers": "1"}
