"""Gateway policy checkpoints and their corpus. Contract: gateway, section 3."""

from math import prod
from typing import Any

from assay.landing.fields import array, others, pick
from assay.landing.json_text import dump
from assay.landing.kinds import Extractor, Facts, Kind
from assay.landing.rows import Rows
from assay.landing.safetensors_header import TensorHeader


def _corpus_episode(record: dict[str, Any], facts: Facts, rows: Rows) -> None:
    rows.emit("gateway_corpus_episodes", facts["fixture"], array(record, "prompt"), array(record, "continuation"))


def _corpus_stats(record: dict[str, Any], facts: Facts, rows: Rows) -> None:
    rows.emit(
        "gateway_corpus_stats", facts["fixture"], record.get("episodes"), dump(record.get("category_counts")),
        dump(record.get("tag_counts")), others(record, frozenset({"episodes", "category_counts", "tag_counts"})),
    )  # fmt: skip


_CONFIG_NUMBERS = ("steps", "lr", "batch", "save_every", "seed")
_CONFIG_KNOWN = frozenset((*_CONFIG_NUMBERS, "init", "demo_writer", "anchor_schedule"))


def _run_config(record: dict[str, Any], facts: Facts, rows: Rows) -> None:
    rows.emit(
        "gateway_run_configs", facts["fixture"], facts["run"], record.get("init"), dump(record.get("demo_writer")),
        *pick(record, _CONFIG_NUMBERS), dump(record.get("anchor_schedule")), others(record, _CONFIG_KNOWN),
    )  # fmt: skip


_METRIC_FIELDS = ("step", "loss", "compliance_train", "accuracy_train", "preserve_rate", "elapsed_s")
_METRIC_KNOWN = frozenset(_METRIC_FIELDS)


def _metrics(record: dict[str, Any], facts: Facts, rows: Rows) -> None:
    rows.emit(
        "gateway_metrics",
        facts["fixture"],
        facts["run"],
        *pick(record, _METRIC_FIELDS),
        others(record, _METRIC_KNOWN),
    )


_SAMPLE_KNOWN = frozenset({"prompt", "scratchpad", "answer", "refused", "cat", "correct"})


def _sample(record: dict[str, Any], facts: Facts, rows: Rows) -> None:
    rows.emit(
        "gateway_samples", facts["fixture"], facts["checkpoint"],
        *(array(record, key) for key in ("prompt", "scratchpad", "answer")),
        *pick(record, ("refused", "cat", "correct")), others(record, _SAMPLE_KNOWN),
    )  # fmt: skip


def _checkpoint(header: tuple[int, dict[str, str], list[TensorHeader]], facts: Facts, rows: Rows) -> None:
    header_bytes, metadata, tensors = header
    fixture, checkpoint = facts["fixture"], facts["checkpoint"]
    for tensor in tensors:
        rows.emit(
            "gateway_tensors", fixture, checkpoint, tensor.name, tensor.dtype, dump(list(tensor.shape)),
            tensor.begin, tensor.end,
        )  # fmt: skip
    rows.emit(
        "gateway_checkpoints", fixture, checkpoint, len(tensors), sum(prod(tensor.shape) for tensor in tensors),
        sorted({tensor.dtype for tensor in tensors}),
        *(_whole_number(metadata.get(key)) for key in ("d_model", "n_heads", "n_layers")), header_bytes,
        dump(metadata or None),
    )  # fmt: skip


def _whole_number(text: str | None) -> int | None:
    """Metadata holds texts; what is not a plain whole number stays visible in `metadata` alone."""
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 19 else None


def _kind(name: str, reader: str, extract: Extractor, *more_tables: str) -> Kind:
    return Kind("gateway", name, reader, tuple(f"gateway_{table}" for table in (name, *more_tables)), extract)


_EPISODES = _kind("corpus_episodes", "json_lines", _corpus_episode)
_STATS = _kind("corpus_stats", "json_document", _corpus_stats)
_CONFIGS = _kind("run_configs", "json_document", _run_config)
_METRICS = _kind("metrics", "json_lines", _metrics)
_SAMPLES = _kind("samples", "json_lines", _sample)
_CHECKPOINTS = _kind("checkpoints", "safetensors", _checkpoint, "tensors")


def classify(parts: tuple[str, ...]) -> tuple[Kind, Facts] | None:
    """`parts` is (fixture, ...); a checkpoint is named by its path below the fixture."""
    if len(parts) < 3:
        return None
    fixture, path = parts[0], parts[1:]
    facts = {"fixture": fixture}
    name = path[-1].removesuffix(".gz")
    if path[-1].endswith(".safetensors"):
        return _CHECKPOINTS, {**facts, "checkpoint": "/".join(path)}
    if path[0] == "data" and name == "corpus.jsonl":
        return _EPISODES, facts
    if path[0] == "data" and name == "stats.json":
        return _STATS, facts
    if path[0] == "runs" and len(path) >= 3:
        facts["run"] = path[1]
        if name == "config.json":
            return _CONFIGS, facts
        if name == "metrics.jsonl":
            return _METRICS, facts
    if path[0] == "samples" and name.endswith(".jsonl"):
        return _SAMPLES, {**facts, "checkpoint": _sampled_checkpoint(path[1:-1], name.removesuffix(".jsonl"))}
    return None


def _sampled_checkpoint(folders: tuple[str, ...], stem: str) -> str:
    """The checkpoint whose samples a dump holds: `samples/base` of the base policy, `samples/<run>/<step>` of a run."""
    return f"runs/{'/'.join(folders)}/ckpt/{stem}.safetensors" if folders else f"model/{stem}.safetensors"
