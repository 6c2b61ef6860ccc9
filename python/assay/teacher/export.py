"""The teacher set as files: parquet, JSON lines and a card (contract sn120 C.7, C.8)."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from assay.errors import AssayError
from assay.exporting import FILES, files_table, inputs_sha256, json_line, rules_json, size_and_hash
from assay.provenance.hub import Split, head
from assay.steps.warehouse import step_of_a_model
from assay.steps.writing import whole, writing
from assay.teacher.card import card
from assay.validator.rollouts import split_rollout, thought_with_cue

FOLDER = "teacher"
ROWS_A_GROUP = 512
_BATCH_ROWS = 256

ROWS = pa.schema(
    [
        ("prompt", pa.string()),
        ("completion", pa.string()),
        ("thought", pa.string()),
        ("action", pa.string()),
        ("teacher_lift", pa.float64()),
        ("n_pool_refs", pa.int64()),
        ("modal_share", pa.float64()),
        ("modal_action_share", pa.float64()),
        ("modal_norm_share", pa.float64()),
        ("n_distinct_actions", pa.int64()),
        ("clean_flags", pa.list_(pa.string())),
        ("turn_id", pa.string()),
        ("traj_id", pa.string()),
        ("stratum", pa.string()),
        ("source", pa.string()),
        ("language", pa.string()),
        ("phase", pa.string()),
        ("n_prefix_chars", pa.int64()),
        ("n_prefix_tokens", pa.int64()),
        ("duel_epoch", pa.int64()),
        ("challenge_id", pa.string()),
        ("ref_index", pa.int64()),
        ("artifact_id", pa.string()),
        ("lift_describes_action", pa.bool_()),
        ("has_common_ending", pa.bool_()),
    ]
)
"""Columns of the files: those of the seed's set, then where a row comes from and what to know of it."""


def check_round_trip(row: Mapping[str, Any], cue: str) -> None:
    """Raise AssayError unless the validator's rule gives thought with cue, and action, back from the completion."""
    expected = (thought_with_cue(row["thought"], cue or None), row["action"])
    if split_rollout(row["completion"]) != expected:
        raise AssayError(f"the completion of turn {row['turn_id']} does not round trip; nothing was exported")


def without_nul(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row whose texts hold U+FFFD in place of NUL, which tables keep and many a reader of files refuses."""
    return {name: value.replace("\0", "\ufffd") if isinstance(value, str) else value for name, value in row.items()}


def write_rows(folder: Path, batches: Iterable[pa.RecordBatch], cue: str) -> int:
    """Write `sft_rows.parquet` and `sft_rows.jsonl` below `folder`, both or none; return the number of rows.

    Groups of rows are cut at `ROWS_A_GROUP` whatever the size of the batches, so that the bytes depend on the rows
    alone.
    """
    n_rows = 0
    with (
        whole(folder / "sft_rows.parquet", folder / "sft_rows.jsonl") as parts,
        pq.ParquetWriter(parts[0], ROWS, compression="zstd", compression_level=3) as table,
        parts[1].open("w", encoding="utf-8", newline="\n") as lines,
    ):
        for published in _groups(batches):
            group = [without_nul(row) for row in published]
            for row in group:
                check_round_trip(row, cue)
                lines.write(json_line(row))
            table.write_table(pa.Table.from_pylist(group, schema=ROWS), row_group_size=ROWS_A_GROUP)
            n_rows += len(group)
    return n_rows


def _groups(batches: Iterable[pa.RecordBatch]) -> Iterator[list[dict[str, Any]]]:
    group: list[dict[str, Any]] = []
    for batch in batches:
        for row in batch.to_pylist():
            group.append(row)
            if len(group) == ROWS_A_GROUP:
                yield group
                group = []
    if group:
        yield group


@step_of_a_model(FILES)
def export_step(
    session: duckdb.DuckDBPyConnection,
    exports: str,
    rows: duckdb.DuckDBPyRelation,
    tables: Mapping[str, duckdb.DuckDBPyRelation],
    settings: Mapping[str, str],
) -> duckdb.DuckDBPyRelation:
    """Write the set and its card below `exports`/teacher; returns the table of `FILES`.

    `tables` are those the card speaks of, and `artifacts`. When something cannot be written, files of an earlier build
    stay as they were.
    """
    folder = Path(exports) / FOLDER
    columns = ", ".join(ROWS.names)
    with writing(Path(exports)):
        folder.mkdir(parents=True, exist_ok=True)
        inputs = inputs_sha256(tables["artifacts"], ("sn120", "tokenizer"))
        facts = {
            name: relation.order("all").to_arrow_table().to_pylist()
            for name, relation in tables.items()
            if name not in ("artifacts", "agreement")
        }
        pooled = tables["agreement"].aggregate("corpus_epoch, count(*), sum(n_pool_refs)", "corpus_epoch")
        pools = {epoch: (turns, int(references)) for epoch, turns, references in pooled.fetchall()}
        ordered = rows.project(columns).order("duel_epoch, turn_id")
        n_rows = write_rows(folder, ordered.to_arrow_reader(_BATCH_ROWS), settings["completion_cue"])
        license_name = settings["dataset_license"]
        text = card(_head(folder / "sft_rows.parquet", license_name), n_rows, pools, facts, settings)
        with whole(folder / "README.md") as parts:
            parts[0].write_text(text, encoding="utf-8", newline="\n")
    rules = rules_json(settings)
    written = [("README.md", 0), ("sft_rows.jsonl", n_rows), ("sft_rows.parquet", n_rows)]
    listed = [(f"{FOLDER}/{name}", *size_and_hash(folder / name), count, rules, inputs) for name, count in written]
    return session.from_arrow(files_table(listed))


def _head(path: Path, license_name: str) -> str:
    """The head of the card, from the parquet file itself."""
    metadata = pq.read_metadata(path)
    size = sum(metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups))
    split = Split("train", (path.name,), path.stat().st_size, size, metadata.num_rows)
    return head(license_name, {"default": ROWS}, {"default": [split]}, "default", metadata.num_rows)
