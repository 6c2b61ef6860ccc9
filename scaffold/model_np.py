"""The gateway policy in numpy: a checkpoint read with care, and a sampler that repeats the published tokens.

Contract: gateway, section 4. Nothing here trusts a file: its header is checked before anything is allocated.
"""

import json
import os
import re
import stat
import struct
from collections.abc import Sequence
from math import prod, sqrt
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

VOCABULARY = 72
POSITIONS = 24
PAD, END = 0, 4

SAMPLER_VERSION = "1"
"""Changes whenever the sampler could give another token."""

Floats = NDArray[Any]
Tokens = NDArray[np.int64]

_MAX_HEADER_BYTES = 1 << 20
_DTYPE_BYTES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2}
_DEFAULTS = {"d_model": 96, "n_heads": 4, "n_layers": 2}
_NORM_EPSILON = 1e-5

# The tanh form of GELU is x * sigmoid(_LINEAR * x + _CUBIC * x**3).
_LINEAR = 2 * sqrt(2 / np.pi)
_CUBIC = 0.044715 * _LINEAR

# Rows that go through the layers together: enough for the matrix products, few enough to stay in the cache.
_ROWS = 128

# Sums of exponentials of scores up to this size neither overflow nor vanish in float32.
_SMALL_SCORE = 40.0


class CheckpointError(Exception):
    """A checkpoint that cannot be used: which one, and why; the text is one sentence that names file and tensor."""

    def __init__(self, checkpoint: str | Path, reason: str) -> None:
        """`checkpoint` is the name to show, `reason` says what is wrong and with which tensor."""
        super().__init__(f"{checkpoint}: {reason}")
        self.reason = reason


class _Entry(NamedTuple):
    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


class _Layer(NamedTuple):
    """Weights as they are multiplied from the right, with gain and bias of the norms and constant factors in them.

    Keys need no bias, since it adds the same to every score of a query; that of the values is in `proj_bias`.
    """

    qkv: Floats
    query_bias: Floats
    proj: Floats
    proj_bias: Floats
    fc1: Floats
    fc1_bias: Floats
    fc2: Floats
    fc2_bias: Floats


# ---------------------------------------------------------------------------------------------------- reading


def read_tensors(path: str | Path, name: str | None = None) -> tuple[dict[str, str], dict[str, Floats]]:
    """Metadata and the policy's tensors, all float32 and finite; raises `CheckpointError`.

    Formats F32, F16, BF16 and F64 are read. Tensors that the policy does not have are left unread. `name` is what
    errors call the file instead of its path.
    """
    shown = name or path
    try:
        # Opening a pipe would wait for its writer.
        if not stat.S_ISREG(Path(path).stat().st_mode):
            raise CheckpointError(shown, "is not a regular file")
        with Path(path).open("rb") as file:
            metadata, entries, start = _header(shown, file, os.fstat(file.fileno()).st_size)
            shapes = _expected_shapes(shown, metadata, entries)
            return metadata, {tensor: _tensor(shown, file, start, tensor, entries[tensor]) for tensor in shapes}
    except OSError as error:
        raise CheckpointError(shown, f"cannot be read: {error.strerror or error}") from None


def _header(path: str | Path, file: BinaryIO, size: int) -> tuple[dict[str, str], dict[str, _Entry], int]:
    prefix = file.read(8)
    if len(prefix) < 8:
        raise CheckpointError(path, f"{len(prefix)} bytes are too few for a header length")
    (length,) = struct.unpack("<Q", prefix)
    if length > size - 8:
        raise CheckpointError(path, f"states a header of {length} bytes in a file of {size}")
    if length > _MAX_HEADER_BYTES:
        raise CheckpointError(path, f"states a header of {length} bytes, more than {_MAX_HEADER_BYTES}")
    try:
        header = json.loads(file.read(length).decode(), object_pairs_hook=_without_repeats)
    except (ValueError, RecursionError) as error:
        raise CheckpointError(path, f"the header is not JSON: {str(error)[:120]}") from None
    if not isinstance(header, dict):
        raise CheckpointError(path, "the header is not an object")
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise CheckpointError(path, "__metadata__ is not an object of texts")
    entries = {name: _entry(path, name, value) for name, value in header.items()}
    available, expected = size - 8 - length, 0
    # By the end as well: an empty tensor begins where its neighbour does.
    for name, entry in sorted(entries.items(), key=lambda item: (item[1].begin, item[1].end)):
        if entry.begin != expected:
            word = "overlaps its neighbour" if entry.begin < expected else "leaves a gap"
            raise CheckpointError(path, f"tensor {name[:80]}: {word}: begins at {entry.begin}, expected {expected}")
        if entry.end > available:
            raise CheckpointError(
                path, f"tensor {name[:80]}: ends at byte {entry.end}, the file has {available} bytes of tensors"
            )
        expected = entry.end
    if expected != available:
        raise CheckpointError(path, f"tensors end at {expected}, the file has {available} bytes of tensors")
    return metadata, entries, 8 + length


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"{name[:80]!r} occurs twice")
        found[name] = value
    return found


def _entry(path: str | Path, name: str, value: Any) -> _Entry:
    where = f"tensor {name[:80]}"
    if not isinstance(value, dict) or value.keys() != {"dtype", "shape", "data_offsets"}:
        raise CheckpointError(path, f"{where}: expected dtype, shape and data_offsets")
    dtype, shape, offsets = value["dtype"], value["shape"], value["data_offsets"]
    if not isinstance(dtype, str) or dtype not in _DTYPE_BYTES:
        raise CheckpointError(
            path, f"{where}: {str(dtype)[:20]!r} is not a dtype the sampler computes with ({', '.join(_DTYPE_BYTES)})"
        )
    if not _is_counts(shape) or not _is_counts(offsets) or len(offsets) != 2:
        raise CheckpointError(path, f"{where}: shape and data_offsets must be short lists of whole numbers")
    begin, end = offsets
    if end - begin != prod(shape) * _DTYPE_BYTES[dtype]:
        raise CheckpointError(
            path,
            f"{where}: shape {shape} of {dtype} needs {prod(shape) * _DTYPE_BYTES[dtype]} bytes, "
            f"its offsets {begin} to {end} hold {end - begin}",
        )
    return _Entry(dtype, tuple(shape), begin, end)


def _is_counts(value: Any) -> bool:
    return (
        isinstance(value, list) and len(value) <= 8 and all(type(item) is int and 0 <= item < 2**48 for item in value)
    )


def _sizes(path: str | Path, metadata: dict[str, str]) -> tuple[int, int, int]:
    sizes = []
    for key, default in _DEFAULTS.items():
        text = metadata.get(key, str(default))
        if not re.fullmatch("[1-9][0-9]{0,5}", text):
            raise CheckpointError(path, f"metadata {key} is {text[:20]!r}, expected a whole number above 0")
        sizes.append(int(text))
    width, heads, layers = sizes
    if width % heads:
        raise CheckpointError(path, f"d_model {width} cannot be shared by {heads} heads")
    return width, heads, layers


def _expected_shapes(
    path: str | Path, metadata: dict[str, str], entries: dict[str, _Entry]
) -> dict[str, tuple[int, ...]]:
    width, _, layers = _sizes(path, metadata)
    shapes: dict[str, tuple[int, ...]] = {}

    def expect(name: str, *shape: int) -> None:
        if name not in entries:
            raise CheckpointError(path, f"tensor {name}: is missing")
        if entries[name].shape != shape:
            raise CheckpointError(path, f"tensor {name}: has shape {entries[name].shape}, expected {shape}")
        shapes[name] = shape

    expect("tok_emb", VOCABULARY, width)
    expect("pos_emb", POSITIONS, width)
    for layer in range(layers):
        start = f"layers.{layer}."
        for norm in ("ln1", "ln2"):
            expect(f"{start}{norm}.weight", width)
            expect(f"{start}{norm}.bias", width)
        for name, rows, columns in (
            ("attn.qkv", 3 * width, width),
            ("attn.proj", width, width),
            ("mlp.fc1", 4 * width, width),
            ("mlp.fc2", width, 4 * width),
        ):
            expect(f"{start}{name}.weight", rows, columns)
            expect(f"{start}{name}.bias", rows)
    expect("ln_f.weight", width)
    expect("ln_f.bias", width)
    expect("head.weight", VOCABULARY, width)
    expect("head.bias", VOCABULARY)
    return shapes


def _tensor(path: str | Path, file: BinaryIO, start: int, name: str, entry: _Entry) -> Floats:
    file.seek(start + entry.begin)
    data = file.read(entry.end - entry.begin)
    if len(data) < entry.end - entry.begin:
        raise CheckpointError(path, f"tensor {name}: the file ends in it")
    with np.errstate(over="ignore"):
        if entry.dtype == "BF16":
            values = (np.frombuffer(data, "<u2").astype(np.uint32) << 16).view(np.float32)
        else:
            values = np.frombuffer(data, f"<f{_DTYPE_BYTES[entry.dtype]}").astype(np.float32)
    if not np.isfinite(values).all():
        raise CheckpointError(path, f"tensor {name}: holds a value that is not a finite float32")
    return values.reshape(entry.shape)


# ---------------------------------------------------------------------------------------------------- the policy


class Model:
    """A policy ready to be sampled. Arithmetic is float32 unless another `dtype` asks for a reference."""

    def __init__(
        self, path: str | Path, metadata: dict[str, str], tensors: dict[str, Floats], dtype: type[Any] = np.float32
    ) -> None:
        """Take what `read_tensors` gave; `path` names the checkpoint in errors."""
        self.path = path
        self.width, self.heads, n_layers = _sizes(path, metadata)
        self.dtype = dtype
        wide = {name: tensor.astype(np.float64) for name, tensor in tensors.items()}
        # x' = scale * x turns the exponent of GELU's sigmoid into x' * (x' * x' + constant).
        scale = -np.cbrt(_CUBIC)
        self.gelu_constant = dtype(-_LINEAR / scale)
        self.layers = [self._layer(wide, f"layers.{layer}.", scale) for layer in range(n_layers)]
        self.head, self.head_bias = map(self._laid_out, self._after_norm(wide, "ln_f", "head"))
        self.embedded = (wide["tok_emb"][None] + wide["pos_emb"][:, None]).astype(dtype)
        # A token's query, key and value in the first layer depend on its position alone, so they are looked up.
        first = self.layers[0]
        flat = self.embedded.reshape(-1, self.width)
        first_qkv = _normalised(flat) @ first.qkv
        first_qkv[:, : self.width] += first.query_bias
        self.first_qkv = first_qkv.reshape(POSITIONS, VOCABULARY, -1)

    def _after_norm(self, wide: dict[str, Floats], norm: str, name: str) -> tuple[Floats, Floats]:
        weight, bias = wide[f"{name}.weight"], wide[f"{name}.bias"]
        return (weight * wide[f"{norm}.weight"]).T, bias + weight @ wide[f"{norm}.bias"]

    def _layer(self, wide: dict[str, Floats], start: str, scale: float) -> _Layer:
        width = self.width
        qkv, qkv_bias = self._after_norm(wide, f"{start}ln1", f"{start}attn.qkv")
        shrink = 1 / sqrt(width // self.heads)
        proj = wide[f"{start}attn.proj.weight"]
        proj_bias = wide[f"{start}attn.proj.bias"] + proj @ qkv_bias[2 * width :]
        fc1, fc1_bias = self._after_norm(wide, f"{start}ln2", f"{start}mlp.fc1")
        return _Layer(
            self._laid_out(np.concatenate((qkv[:, :width] * shrink, qkv[:, width:]), axis=1)),
            self._laid_out(qkv_bias[:width] * shrink),
            self._laid_out(proj.T),
            self._laid_out(proj_bias),
            self._laid_out(fc1 * scale),
            self._laid_out(fc1_bias * scale),
            self._laid_out(wide[f"{start}mlp.fc2.weight"].T / scale),
            self._laid_out(wide[f"{start}mlp.fc2.bias"]),
        )

    def _laid_out(self, weight: Floats) -> Floats:
        return np.ascontiguousarray(weight, dtype=self.dtype)

    def extend(self, cache: Floats, start: int, tokens: Tokens, want_logits: bool) -> Floats | None:
        """Feed `tokens` [rows, length] at positions from `start` on; return the last position's logits if wanted.

        `cache` [layers, 2, rows, heads, positions, head width] holds keys and values of earlier positions and takes
        the new ones.
        """
        rows, length = tokens.shape
        stop = start + length
        positions = np.arange(start, stop)
        x = self.embedded[positions, tokens].reshape(rows * length, self.width)
        qkv = self.first_qkv[positions, tokens].reshape(rows * length, -1)
        for index, layer in enumerate(self.layers):
            last = index == len(self.layers) - 1
            if index:
                # Of the last layer nobody asks more than keys and values, but at the position that is sampled from.
                skipped = self.width if last and not want_logits else 0
                qkv = _normalised(x) @ layer.qkv[:, skipped:]
                if not skipped:
                    qkv[:, : self.width] += layer.query_bias
            parts = qkv.reshape(rows, length, -1, self.heads, self.width // self.heads)
            cache[index, :, :, :, start:stop] = parts[:, :, -2:].transpose(2, 0, 3, 1, 4)
            if last and not want_logits:
                return None
            query = parts[:, :, 0]
            if last and length > 1:
                query, x = query[:, -1:], x.reshape(rows, length, -1)[:, -1]
            x = x + _attention(query, cache[index, 0, :, :, :stop], cache[index, 1, :, :, :stop], start) @ layer.proj
            x += layer.proj_bias
            hidden = _gelu(_normalised(x) @ layer.fc1, layer.fc1_bias, self.gelu_constant)
            x += hidden @ layer.fc2
            x += layer.fc2_bias
        logits = _normalised(x) @ self.head
        logits += self.head_bias
        if not np.isfinite(logits).all():
            raise CheckpointError(self.path, "tensor head.weight: the logits it gives are not finite")
        return logits

    def empty_cache(self, rows: int) -> Floats:
        """Room for the keys and values of so many rows."""
        shape = (len(self.layers), 2, rows, self.heads, POSITIONS, self.width // self.heads)
        return np.empty(shape, self.dtype)


def load(path: str | Path, dtype: type[Any] = np.float32, name: str | None = None) -> Model:
    """Read and check a checkpoint; raises `CheckpointError`, which calls the file `name` where one is given."""
    metadata, tensors = read_tensors(path, name)
    # What overflows here is found in the logits.
    with np.errstate(over="ignore", invalid="ignore"):
        return Model(name or path, metadata, tensors, dtype)


def _normalised(x: Floats) -> Floats:
    centred: Floats = x - (x @ np.full(x.shape[-1], 1 / x.shape[-1], x.dtype))[:, None]
    variance: Floats = np.einsum("ij,ij->i", centred, centred)
    variance /= x.shape[-1]
    variance += x.dtype.type(_NORM_EPSILON)
    centred /= np.sqrt(variance, out=variance)[:, None]
    return centred


def _gelu(x: Floats, bias: Floats, constant: Any) -> Floats:
    """GELU of `x` plus `bias`, scaled as `Model` scales them, in place; in pieces that stay in the first cache."""
    power = np.empty((min(len(x), 32), x.shape[1]), x.dtype)
    for begin in range(0, len(x), len(power)):
        piece = x[begin : begin + len(power)]
        into = power[: len(piece)]
        piece += bias
        np.multiply(piece, piece, out=into)
        into += constant
        into *= piece
        # Far below zero this overflows to infinity, and the quotient is the 0 that it should be.
        np.exp(into, out=into)
        into += 1
        piece /= into
    return x


def _attention(query: Floats, keys: Floats, values: Floats, start: int) -> Floats:
    """`query` [rows, length, heads, width] over keys and values [rows, heads, positions, width], causally."""
    rows, length, heads, width = query.shape
    scores = query.transpose(0, 2, 1, 3) @ keys.swapaxes(2, 3)
    are_small = -_SMALL_SCORE < scores.min() <= scores.max() < _SMALL_SCORE
    if length > 1:
        seen = np.arange(keys.shape[2]) <= (start + np.arange(length))[:, None]
        scores = np.where(seen, scores, scores.dtype.type(-np.inf))
    # The shift changes nothing but the range of the exponential, so that small scores do without.
    if not are_small:
        scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)
    return (scores @ values).swapaxes(1, 2).reshape(rows * length, heads * width)


# ---------------------------------------------------------------------------------------------------- sampling


def generate(
    model: Model,
    prompts: ArrayLike,
    max_new: int = 9,
    temperature: float = 1.0,
    seed: int = 0,
    prefill: Sequence[int] | None = None,
    batch_size: int = 512,
) -> Tokens:
    """Sample a continuation of every prompt; same arguments, same tokens as the published sampler.

    `prompts` are token ids [n, prompt length]; returns token ids [n, max_new]. `temperature` 0 or less takes the most
    likely token and draws nothing. `prefill` forces the first tokens of every row. Raises `ValueError` for prompts
    that do not fit and `CheckpointError` for a model whose logits are not finite.
    """
    ids = np.asarray(prompts, dtype=np.int64)
    if ids.size == 0:
        return np.full((len(ids), max_new), PAD, np.int64)
    forced = list(prefill or ())[:max_new]
    if ids.ndim != 2 or ids.shape[1] + max_new > POSITIONS or max_new < 1:
        raise ValueError(f"prompts of shape {ids.shape} and {max_new} new tokens do not fit {POSITIONS} positions")
    if not all(0 <= token < VOCABULARY for token in (ids.min(), ids.max(), *forced)):
        raise ValueError(f"token ids lie between 0 and {VOCABULARY - 1}")
    draws = _draws(len(ids), max_new, len(forced), seed, batch_size) if temperature > 0 else None
    sampled = np.empty((len(ids), max_new), np.int64)
    # What overflows for good is found in the logits.
    with np.errstate(over="ignore", invalid="ignore"):
        tree = _PrefixTree(model, ids)
        for begin in range(0, len(ids), _ROWS):
            rows = slice(begin, min(begin + _ROWS, len(ids)))
            drawn = None if draws is None else draws[rows]
            sampled[rows] = _continue(model, tree, rows, max_new, temperature, forced, drawn)
    return sampled


def _draws(n: int, max_new: int, n_forced: int, seed: int, batch_size: int) -> NDArray[np.float64]:
    """Every uniform number in the published order: batch by batch, step by step, finished rows included."""
    generator = np.random.default_rng(seed)
    draws = np.zeros((n, max_new))
    for begin in range(0, n, batch_size):
        batch = draws[begin : begin + batch_size]
        for step in range(n_forced, max_new):
            batch[:, step] = generator.random((len(batch), 1))[:, 0]
    return draws


class _PrefixTree:
    """Keys and values of the prompts' shared beginnings, each computed once: a position sees only what is before it."""

    def __init__(self, model: Model, prompts: Tokens) -> None:
        self.prompts = prompts
        nodes, counts = [], []
        node = np.zeros(len(prompts), np.int64)
        for position in range(prompts.shape[1] - 1):
            _, node = np.unique(node * VOCABULARY + prompts[:, position], return_inverse=True)
            nodes.append(node)
            counts.append(int(node.max()) + 1)
        # The longest beginning that is worth sharing, and within it the cuts where the number of branches grows.
        shared = max(
            (length for length in range(len(counts) + 1) if _is_shared(counts, length, len(prompts))), default=0
        )
        cuts = [end for end in range(1, shared) if 2 * counts[end - 1] <= counts[end]]
        self.length = shared
        self.node = nodes[shared - 1] if shared else node
        self.cache = model.empty_cache(0)
        begin = 0
        parents: Tokens | None = None
        for end in (*cuts, shared) if shared else ():
            _, first_rows = np.unique(nodes[end - 1], return_index=True)
            cache = model.empty_cache(len(first_rows))
            if parents is not None:
                cache[..., :begin, :] = self.cache[:, :, parents[first_rows], :, :begin]
            for at in range(0, len(first_rows), _ROWS):
                block = first_rows[at : at + _ROWS]
                model.extend(cache[:, :, at : at + _ROWS], begin, prompts[block, begin:end], want_logits=False)
            self.cache, parents, begin = cache, nodes[end - 1], end


def _is_shared(counts: list[int], length: int, n: int) -> bool:
    return length == 0 or 2 * counts[length - 1] <= n


def _continue(
    model: Model,
    tree: _PrefixTree,
    rows: slice,
    max_new: int,
    temperature: float,
    forced: list[int],
    draws: NDArray[np.float64] | None,
) -> Tokens:
    prompts = tree.prompts[rows]
    length = prompts.shape[1]
    cache = model.empty_cache(len(prompts))
    if tree.length:
        cache[..., : tree.length, :] = tree.cache[:, :, tree.node[rows], :, : tree.length]
    sampled = np.full((len(prompts), max_new), PAD, np.int64)
    # The rows of `cache` that go on are those of `sampled` that `alive` names.
    alive = np.arange(len(prompts))
    finished = np.zeros(len(prompts), bool)
    fed, start = prompts[:, tree.length :], tree.length
    for step in range(max_new):
        is_forced = step < len(forced)
        logits = model.extend(cache, start, fed, want_logits=not is_forced)
        if logits is None:
            token = np.full(len(alive), forced[step], np.int64)
        elif draws is None:
            token = logits.argmax(axis=-1)
        else:
            token = _drawn(logits if temperature == 1 else logits / model.dtype(temperature), draws[alive, step])
        token = np.where(finished, PAD, token)
        sampled[alive, step] = token
        finished |= token == END
        if finished.all():
            break
        if 4 * np.count_nonzero(finished) >= len(alive):
            goes_on = ~finished
            alive, token, cache = alive[goes_on], token[goes_on], cache[:, :, goes_on]
            finished = finished[goes_on]
        fed, start = token[:, None], length + step
    return sampled


def _drawn(logits: Floats, uniform: NDArray[np.float64]) -> Tokens:
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    below = np.cumsum(weights, axis=-1) < uniform[:, None]
    token: Tokens = np.minimum(below.sum(axis=-1), VOCABULARY - 1)
    return token
