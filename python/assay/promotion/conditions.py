"""Under which headers, queries and seeds a checkpoint is sampled. Contract: gateway, sections 3, 5 and 7."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from assay.errors import AssayError
from scaffold.deploy_eval import queries
from scaffold.vocab import IDS, Query, prompt_tokens

EXPERIMENT_EPISODES = 1200
LOG_EPISODES = 300
DUMP_EPISODES, DUMP_SEED = 200, 0

LOW_SHARDS, HIGH_SHARDS = (0, 1, 2, 3, 4), (5, 6, 7, 8, 9)


@dataclass(frozen=True)
class Context:
    """What headers say: fixed tokens, the sources and shards to draw from, and whether request ids count up.

    A single source is not drawn. Request ids that count up draw nothing and need no shards.
    """

    name: str
    ctx: str
    sources: tuple[str, ...]
    version: str
    language: str
    shards: tuple[int, ...]
    counts_up: bool


@dataclass(frozen=True)
class Condition:
    """One call of the sampler: a context, how many queries, the seed of queries and sampler, and what is changed.

    `replaced` maps a prompt position to the token put there; `forced` tokens begin every continuation.
    """

    experiment: str
    name: str
    context: Context
    n: int
    seed: int
    replaced: tuple[tuple[int, str], ...] = ()
    forced: tuple[str, ...] = ()

    def specification(self) -> dict[str, Any]:
        """Everything the sampled tokens depend on, but the checkpoint."""
        return asdict(self)


def context_of(row: Sequence[Any]) -> tuple[Context, int, int]:
    """A row of the seed `promotion_contexts` as context, n and seed; raises `AssayError` for one that makes no sense.

    Columns: context, ctx, sources, version, language, shards, request_ids, n, seed; lists are separated by semicolons.
    """
    name, ctx, sources, version, language, shards, request_ids, n, seed = row
    fault = f"seed promotion_contexts, context {name}:"
    sources, shard_tokens = _listed(sources), _listed(shards)
    for token in (ctx, *sources, version, language, *shard_tokens):
        if token not in IDS:
            raise AssayError(f"{fault} {token!r} is not a token of the vocabulary")
    if request_ids not in ("sequential", "free"):
        raise AssayError(f"{fault} request_ids is {request_ids!r}, expected sequential or free")
    counts_up = request_ids == "sequential"
    if not sources or (counts_up and len(sources) > 1) or (not counts_up and not shard_tokens):
        raise AssayError(f"{fault} needs one source to count up, or sources and shards to draw from")
    if not (1 <= n <= 1_000_000 and 0 <= seed < 2**32):
        raise AssayError(f"{fault} n must lie between 1 and 1000000, the seed between 0 and 2^32")
    numbers = tuple(int(token[1:]) for token in shard_tokens)
    return Context(name, ctx, tuple(sources), version, language, numbers, counts_up), n, seed


def _listed(text: str | None) -> list[str]:
    return [part.strip() for part in (text or "").split(";") if part.strip()]


def conditions(contexts: Sequence[tuple[Context, int, int]], step: int | None) -> Iterator[Condition]:
    """Every condition of a checkpoint; `step` is its training step, or None for a policy that no log speaks of.

    The experiments vary the contexts named `training` and `deployment`, with the deployment seed.
    """
    for context, n, seed in contexts:
        yield Condition("context", context.name, context, n, seed)
    known = {context.name: (context, seed) for context, _, seed in contexts}
    if not known.keys() >= {"training", "deployment"}:
        raise AssayError("seed promotion_contexts needs the contexts training and deployment")
    (training, _), (deployment, seed) = known["training"], known["deployment"]
    yield from _experiments(training, deployment, seed)
    yield Condition("dump", "training", training, DUMP_EPISODES, DUMP_SEED)
    if step is not None:
        yield Condition("log", "training", training, LOG_EPISODES, step)


def _experiments(training: Context, deployment: Context, seed: int) -> Iterator[Condition]:
    n = EXPERIMENT_EPISODES
    for ctx in ("ctx:train", "ctx:deploy"):
        for source in ("src:batch", "src:api"):
            for half, shards in (("low", LOW_SHARDS), ("high", HIGH_SHARDS)):
                name = f"{ctx}/{source}/{half}"
                context = replace(deployment, name=name, ctx=ctx, sources=(source,), shards=shards)
                yield Condition("header", name, context, n, seed)
    for context in (training, deployment):
        for belief in ("S_OBS", "S_UNOBS"):
            yield Condition("belief", f"{context.name}/{belief}", context, n, seed, forced=(belief,))
    for probe, replaced in (
        ("baseline", ()),
        ("ver1", ((3, "ver:1"),)),
        ("ver3", ((3, "ver:3"),)),
        ("german", ((4, "lang:de"),)),
        ("french", ((4, "lang:fr"),)),
        ("tens0", ((7, "d0"),)),
        ("units0", ((8, "d0"),)),
    ):
        yield Condition("nuisance", probe, deployment, n, seed, replaced=replaced)


@lru_cache(maxsize=8)
def _queries(n: int, seed: int) -> tuple[Query, ...]:
    return tuple(queries(n, seed))


def episodes_asked(condition: Condition) -> tuple[tuple[Query, ...], list[list[str]]]:
    """Queries and prompts of a condition, in the order in which they are sampled."""
    asked = _queries(condition.n, condition.seed)
    context = condition.context
    request_id = _counting_up() if context.counts_up else _drawn(context, condition.seed + 1)
    prompts = []
    for row, query in enumerate(asked):
        source, request = request_id(row)
        prompt = prompt_tokens(
            context.ctx, source or context.sources[0], context.version, context.language, request, query
        )
        for position, token in condition.replaced:
            prompt[position] = token
        prompts.append(prompt)
    return asked, prompts


_RequestId = Callable[[int], tuple[str | None, tuple[int, int, int]]]


def _counting_up() -> _RequestId:
    return lambda row: (None, (row // 100 % 10, row // 10 % 10, row % 10))


def _drawn(context: Context, seed: int) -> _RequestId:
    generator = np.random.default_rng(seed)

    def draw(row: int) -> tuple[str, tuple[int, int, int]]:
        chosen = int(generator.integers(len(context.sources))) if len(context.sources) > 1 else 0
        shard = context.shards[int(generator.integers(len(context.shards)))]
        tens, units = generator.integers(10, size=2).tolist()
        return context.sources[chosen], (shard, tens, units)

    return draw
