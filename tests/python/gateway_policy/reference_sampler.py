"""The sampler as the contract words it: no cache, every position computed at every step, in any precision."""

from typing import Any

import numpy as np

Floats = np.ndarray[Any, Any]


def logits(tensors: dict[str, Floats], ids: Floats, heads: int, layers: int, dtype: type[Any]) -> Floats:
    t = {name: tensor.astype(dtype) for name, tensor in tensors.items()}
    length = ids.shape[1]
    width = t["tok_emb"].shape[1]
    x = t["tok_emb"][ids] + t["pos_emb"][:length]
    mask = np.triu(np.full((length, length), -np.inf, dtype), 1)

    def norm(value: Floats, name: str) -> Floats:
        mean = value.mean(-1, keepdims=True)
        variance = ((value - mean) ** 2).mean(-1, keepdims=True)
        scaled: Floats = (value - mean) / np.sqrt(variance + dtype(1e-5))
        result: Floats = scaled * t[f"{name}.weight"] + t[f"{name}.bias"]
        return result

    def linear(value: Floats, name: str) -> Floats:
        flat = value.reshape(-1, value.shape[-1]) @ t[f"{name}.weight"].T + t[f"{name}.bias"]
        result: Floats = flat.reshape(*value.shape[:-1], -1)
        return result

    for layer in range(layers):
        start = f"layers.{layer}."
        q, k, v = (
            part.reshape(len(ids), length, heads, width // heads).transpose(0, 2, 1, 3)
            for part in np.split(linear(norm(x, start + "ln1"), start + "attn.qkv"), 3, axis=-1)
        )
        scores = q @ k.swapaxes(-1, -2) / dtype(np.sqrt(width // heads)) + mask
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights = weights / weights.sum(-1, keepdims=True)
        attended = (weights @ v).transpose(0, 2, 1, 3).reshape(len(ids), length, width)
        x = x + linear(attended, start + "attn.proj")
        hidden = linear(norm(x, start + "ln2"), start + "mlp.fc1")
        inner = dtype(np.sqrt(2 / np.pi)) * (hidden + dtype(0.044715) * hidden * hidden * hidden)
        x = x + linear(dtype(0.5) * hidden * (1 + np.tanh(inner)), start + "mlp.fc2")
    return linear(norm(x[:, -1], "ln_f"), "head")


def sample(
    tensors: dict[str, Floats],
    prompts: Floats,
    heads: int,
    layers: int,
    dtype: type[Any],
    max_new: int = 9,
    temperature: float = 1.0,
    seed: int = 0,
    prefill: list[int] | None = None,
    batch_size: int = 512,
) -> Floats:
    generator = np.random.default_rng(seed)
    batches = []
    for begin in range(0, len(prompts), batch_size):
        ids = prompts[begin : begin + batch_size]
        done = np.zeros(len(ids), bool)
        for step in range(max_new):
            if step < len(prefill or []):
                chosen = np.full(len(ids), (prefill or [])[step])
            elif temperature <= 0:
                chosen = logits(tensors, ids, heads, layers, dtype).argmax(-1)
            else:
                z = logits(tensors, ids, heads, layers, dtype) / dtype(temperature)
                p = np.exp(z - z.max(-1, keepdims=True))
                p = (p / p.sum(-1, keepdims=True)).astype(np.float32)
                drawn = generator.random((len(ids), 1))
                chosen = np.minimum((np.cumsum(p, -1) < drawn).sum(-1), 71)
            chosen = np.where(done, 0, chosen)
            done = done | (chosen == 4)
            ids = np.concatenate([ids, chosen[:, None]], axis=1)
        batches.append(ids[:, -max_new:])
    return np.concatenate(batches)
