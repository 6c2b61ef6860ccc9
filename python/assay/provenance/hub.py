"""The YAML head of a dataset card, as the dataset hub reads it, from declared schemas (contract: exports, 3c)."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*")
_NO_TEXT = frozenset("true false null yes no on off y n".split())
_TYPES = {
    pa.string(): "string",
    pa.int64(): "int64",
    pa.float64(): "float64",
    pa.bool_(): "bool",
}


@dataclass(frozen=True)
class Split:
    """One split of a configuration: its name, its files in order, their bytes, bytes uncompressed, and rows."""

    name: str
    paths: tuple[str, ...]
    n_bytes: int
    n_uncompressed_bytes: int
    n_rows: int


def size_category(n_rows: int) -> str:
    """The hub's name for a number of rows."""
    return next((name for limit, name in _SIZES if n_rows < limit), "n>1M")


def features(schema: Sequence[pa.Field]) -> list[dict[str, Any]]:
    """The hub's features of a schema. Raises KeyError for a type that no export uses."""
    return [{"name": field.name, **_feature(field.type)} for field in schema]


def _feature(kind: pa.DataType) -> dict[str, Any]:
    if pa.types.is_struct(kind):
        return {"struct": features(list(kind))}
    if pa.types.is_list(kind):
        inner = kind.value_type
        return {"list": features(list(inner))} if pa.types.is_struct(inner) else {"sequence": _TYPES[inner]}
    return {"dtype": _TYPES[kind]}


def head(
    license_name: str,
    schemas: Mapping[str, pa.Schema],
    configurations: Mapping[str, Sequence[Split]],
    default: str,
    n_rows: int,
) -> str:
    """The head between its two lines of dashes: licence, sizes, and each configuration with its splits and features.

    `schemas` and `configurations` have the same names.
    A split without rows is left out, and so is a configuration without a split: readers refuse a card that names one.
    """
    held = {name: [split for split in splits if split.n_rows] for name, splits in configurations.items()}
    configurations = {name: splits for name, splits in held.items() if splits}
    document = {
        "license": license_name,
        "task_categories": ["text-generation"],
        "size_categories": [size_category(n_rows)],
        "configs": [
            {
                "config_name": name,
                "data_files": [{"split": split.name, "path": _paths(split)} for split in splits],
                **({"default": True} if name == default else {}),
            }
            for name, splits in configurations.items()
        ],
        "dataset_info": [
            {
                "config_name": name,
                "features": features(list(schemas[name])),
                "splits": [
                    {"name": split.name, "num_bytes": split.n_uncompressed_bytes, "num_examples": split.n_rows}
                    for split in splits
                ],
                "download_size": sum(split.n_bytes for split in splits),
                "dataset_size": sum(split.n_uncompressed_bytes for split in splits),
            }
            for name, splits in configurations.items()
        ],
    }
    return "---\n" + "\n".join(_yaml(document, "")) + "\n---\n"


def _paths(split: Split) -> str | list[str]:
    return split.paths[0] if len(split.paths) == 1 else list(split.paths)


def _yaml(value: Mapping[str, Any], indent: str) -> Iterator[str]:
    for key, entry in value.items():
        if isinstance(entry, list):
            if entry:
                yield f"{indent}{key}:"
            for item in entry:
                if isinstance(item, dict):
                    first, *rest = _yaml(item, f"{indent}  ")
                    yield f"{indent}- {first.lstrip()}"
                    yield from rest
                else:
                    yield f"{indent}- {_scalar(item)}"
        else:
            yield f"{indent}{key}: {_scalar(entry)}"


def _scalar(value: Any) -> str:
    # What YAML could take for something else than text is quoted as JSON quotes it.
    is_plain = isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _NO_TEXT
    return str(value) if is_plain else json.dumps(value, ensure_ascii=True)
