"""How fast a checkpoint is evaluated, beside its matrix products alone and beside two plainer samplers.

Usage: python bench/gateway.py [--fixture tests/fixtures/raw/gateway/compliance-batch] [--repeat 3] [--all]

One core. Processor seconds, medians over the repeats, so that other work on the machine counts little:
`products` are the matrix products of the policy alone (every position of every episode once, keys and values kept),
`own products` those that the sampler really does after sharing beginnings and skipping what nobody asks for,
`evaluate` is what deploy_eval.py does with 3,000 queries, `growing cache` keeps keys and values by concatenation,
`no cache` computes every position at every step. All samplers must give the same tokens. `--all` also times the
sampling step of a build from an empty folder: all files, both contexts, every experiment.
"""

import argparse
import hashlib
import os
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import numpy as np  # noqa: E402
from assay.promotion.conditions import context_of  # noqa: E402
from assay.promotion.run import Checkpoint, sample_tree  # noqa: E402
from measure import measure, measure_call  # noqa: E402

from scaffold.deploy_eval import EPISODES, SEED, deployment_prompts, evaluate, queries, token_ids  # noqa: E402
from scaffold.model_np import Model, generate, load, read_tensors  # noqa: E402

Floats = np.ndarray[Any, Any]
NEW = 9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fixture", type=Path, default=Path("tests/fixtures/raw/gateway/compliance-batch"))
    parser.add_argument("--checkpoint", default="runs/run-c/ckpt/step0450.safetensors")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--all", action="store_true")
    arguments = parser.parse_args()
    one_checkpoint(arguments.fixture / arguments.checkpoint, arguments.repeat)
    if arguments.all:
        every_checkpoint(arguments.fixture)


def one_checkpoint(path: Path, repeat: int) -> None:
    prompts = token_ids(deployment_prompts(queries(EPISODES, SEED), SEED))
    model = load(path)
    plain = Plain(path)
    expected = generate(model, prompts, seed=SEED)
    seconds = {
        "products": timed(lambda: products(plain, len(prompts), prompts.shape[1]), repeat),
        "own products": timed(own_products(model, prompts), repeat),
        "generate": timed(lambda: generate(model, prompts, seed=SEED), repeat),
        "evaluate": timed(lambda: evaluate(path), repeat),
        "growing cache": timed(lambda: same(plain.sample(prompts, keep=True), expected, 4), 1),
        "no cache": timed(lambda: same(plain.sample(prompts, keep=False), expected, 4), 1),
    }
    for name, value in seconds.items():
        print(f"{name:14} {value:7.2f} s   {value / seconds['products']:6.2f} x products")
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "scaffold/deploy_eval.py", "--checkpoint", str(path), "--out", f"{folder}/out.json"]
        whole = measure(command)
        print(f"deploy_eval.py as a process: {whole.seconds:.2f} s, {whole.peak_mebibytes:.0f} MiB")


def timed(work: Callable[[], Any], repeat: int) -> float:
    taken = []
    for _ in range(repeat):
        started = time.process_time()
        work()
        taken.append(time.process_time() - started)
    return statistics.median(taken)


def same(tokens: Floats, expected: Floats, allowed: int) -> None:
    """Another order of additions may move a draw, in fewer than one of 10,000 tokens."""
    differs = int((tokens != expected).sum())
    print(f"  {differs} of {tokens.size} tokens differ")
    if differs * 10_000 >= tokens.size:
        raise SystemExit("the samplers disagree")


class Plain:
    """The policy as the contract words it, with nothing folded, shared or skipped."""

    def __init__(self, path: Path) -> None:
        metadata, self.tensors = read_tensors(path)
        self.heads, self.layers = (int(metadata.get(key, text)) for key, text in (("n_heads", "4"), ("n_layers", "2")))
        self.width = self.tensors["tok_emb"].shape[1]

    def linear(self, x: Floats, name: str) -> Floats:
        result: Floats = x @ self.tensors[f"{name}.weight"].T + self.tensors[f"{name}.bias"]
        return result

    def norm(self, x: Floats, name: str) -> Floats:
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred * centred).mean(-1, keepdims=True) + np.float32(1e-5))
        result: Floats = scaled * self.tensors[f"{name}.weight"] + self.tensors[f"{name}.bias"]
        return result

    def logits(self, ids: Floats, past: list[tuple[Floats, Floats]] | None, start: int) -> Floats:
        rows, length = ids.shape
        x = self.tensors["tok_emb"][ids] + self.tensors["pos_emb"][start : start + length]
        for layer in range(self.layers):
            name = f"layers.{layer}."
            q, k, v = (
                part.reshape(rows, length, self.heads, -1).transpose(0, 2, 1, 3)
                for part in np.split(self.linear(self.norm(x, name + "ln1"), name + "attn.qkv"), 3, axis=-1)
            )
            if past is not None:
                if start:
                    k = np.concatenate([past[layer][0], k], axis=2)
                    v = np.concatenate([past[layer][1], v], axis=2)
                past[layer] = (k, v)
            scores = q @ k.swapaxes(2, 3) / np.float32(np.sqrt(self.width // self.heads))
            unseen = np.arange(k.shape[2]) > (start + np.arange(length))[:, None]
            scores = np.where(unseen, np.float32(-np.inf), scores)
            weights = np.exp(scores - scores.max(-1, keepdims=True))
            attended = (weights / weights.sum(-1, keepdims=True)) @ v
            x = x + self.linear(attended.transpose(0, 2, 1, 3).reshape(rows, length, -1), name + "attn.proj")
            hidden = self.linear(self.norm(x, name + "ln2"), name + "mlp.fc1")
            inner = np.float32(np.sqrt(2 / np.pi)) * (hidden + np.float32(0.044715) * hidden**3)
            x = x + self.linear(np.float32(0.5) * hidden * (1 + np.tanh(inner)), name + "mlp.fc2")
        return self.linear(self.norm(x[:, -1], "ln_f"), "head")

    def sample(self, prompts: Floats, keep: bool) -> Floats:
        generator = np.random.default_rng(SEED)
        batches = []
        for begin in range(0, len(prompts), 512):
            ids = prompts[begin : begin + 512]
            length = ids.shape[1]
            past: list[tuple[Floats, Floats]] | None = [(ids, ids)] * self.layers if keep else None
            done = np.zeros(len(ids), bool)
            for step in range(NEW):
                fed = ids[:, length + step - 1 :] if keep and step else ids
                logits = self.logits(fed, past, length + step - 1 if keep and step else 0)
                p = np.exp(logits - logits.max(-1, keepdims=True))
                p /= p.sum(-1, keepdims=True)
                token = np.minimum((np.cumsum(p, -1) < generator.random((len(ids), 1))).sum(-1), 71)
                token = np.where(done, 0, token)
                done |= token == 4
                ids = np.concatenate([ids, token[:, None]], axis=1)
            batches.append(ids[:, length:])
        return np.concatenate(batches)


def products(plain: Plain, n: int, length: int) -> None:
    """Every matrix product of `n` episodes with keys and values kept, in batches of 512, on warm memory."""
    generator = np.random.default_rng(0)
    width, heads = plain.width, plain.heads
    head = width // heads

    def draw(*shape: int) -> Floats:
        return generator.standard_normal(shape, np.float32)

    weights = [draw(width, 3 * width), draw(width, width), draw(width, 4 * width)]
    back, out = draw(4 * width, width), draw(width, 72)
    x, wide = draw(512 * length, width), draw(512 * length, 4 * width)
    q, k = draw(512, heads, length, head), draw(512, heads, 24, head)
    scores = draw(512, heads, length, 24)
    for begin in range(0, n, 512):
        rows = min(512, n - begin)
        for step in range(NEW):
            fed = length if step == 0 else 1
            stop = length + step
            for _ in range(plain.layers):
                for weight in weights:
                    x[: rows * fed] @ weight
                wide[: rows * fed] @ back
                q[:rows, :, :fed] @ k[:rows, :, :stop].swapaxes(2, 3)
                scores[:rows, :, :fed, :stop] @ k[:rows, :, :stop]
            x[:rows] @ out


def own_products(model: Model, prompts: Floats) -> Callable[[], None]:
    """The products that the sampler does for these prompts, recorded once and done again on warm memory."""
    done: Counter[tuple[int, ...]] = Counter()
    width, heads = model.width, model.heads
    extend = Model.extend

    def record(self: Model, cache: Floats, start: int, tokens: Floats, want_logits: bool) -> Floats | None:
        rows, length = tokens.shape
        n, asked = rows * length, length
        for index in range(len(self.layers)):
            last = index == len(self.layers) - 1
            if index:
                done[(n, width, 2 * width if last and not want_logits else 3 * width)] += 1
            if last and not want_logits:
                break
            if last:
                n, asked = rows, 1
            done[(rows, asked, start + length)] += 1
            for inner, outer in ((width, width), (width, 4 * width), (4 * width, width)):
                done[(n, inner, outer)] += 1
        else:
            done[(n, width, 72)] += 1
        return extend(self, cache, start, tokens, want_logits)

    Model.extend = record  # type: ignore[method-assign]
    try:
        generate(model, prompts, seed=SEED)
    finally:
        Model.extend = extend  # type: ignore[method-assign]
    generator = np.random.default_rng(0)

    def draw(*shape: int) -> Floats:
        return generator.standard_normal(shape, np.float32)

    work: list[tuple[Floats, Floats, int]] = []
    for shape, times in done.items():
        if shape[1] % width == 0:
            work.append((draw(*shape[:2]), draw(*shape[1:]), times))
        else:
            rows, asked, stop = shape
            keys = draw(rows, heads, 24, width // heads)[:, :, :stop]
            work.append((draw(rows, heads, asked, width // heads), keys.swapaxes(2, 3), times))
            work.append((draw(rows, heads, asked, stop), keys, times))

    def again() -> None:
        for left, right, times in work:
            for _ in range(times):
                left @ right

    return again


def every_checkpoint(fixture: Path) -> None:
    raw = fixture.resolve().parents[1]
    checkpoints = []
    for path in sorted(fixture.resolve().rglob("*.safetensors")):
        step = int(path.stem[4:]) if path.stem.startswith("step") else None
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        name, place = path.relative_to(fixture.resolve()).as_posix(), path.relative_to(raw).as_posix()
        checkpoints.append(Checkpoint(place, place, fixture.name, name, digest, step))
    contexts = [
        ["deployment", "ctx:deploy", "src:api;src:web", "ver:2", "lang:en", "s5;s6;s7;s8;s9", "free", EPISODES, SEED],
        ["training", "ctx:train", "src:batch", "ver:2", "lang:en", None, "sequential", EPISODES, SEED],
    ]
    with tempfile.TemporaryDirectory() as landing:
        for label in ("all files, contexts and experiments", "again, nothing new"):
            taken, _ = measure_call(sample_tree, raw, Path(landing), checkpoints, list(map(context_of, contexts)))
            print(f"{label}: {taken.seconds:.1f} s on {os.cpu_count()} cores, {taken.peak_mebibytes:.0f} MiB")


if __name__ == "__main__":
    main()
