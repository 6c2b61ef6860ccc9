"""The mask audit of every candidate row, in a pool of processes, and only of rows whose content is new."""

import hashlib
import json
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import tokenizers

import assay.chat_templates
import assay.mixes.audit
import assay.mixes.texts
import assay.mixes.tokenizer
import assay.tokenizer_folder
from assay.chat_templates import TODAY
from assay.mixes.audit import Message, RowAudit, RowRequest, audit_conversation, unknown
from assay.mixes.texts import Block, Place, conversations
from assay.mixes.tokenizer import Identity, identity_of, load
from assay.names import shown
from assay.steps.pool import each
from assay.steps.progress import Progress
from assay.steps.writing import whole, writing
from assay.tokenizer_folder import named_tokens_of

ROWS_TABLE, TURNS_TABLE = "mix_audit_rows", "mix_audit_turns"
EMPTY_FILE = "empty.parquet"
_ALONE_ROWS = 400
_FINGERPRINT = b"assay.fingerprint"

ROWS = pa.schema(
    [
        ("mix", pa.string()),
        ("row_id", pa.string()),
        ("content_key", pa.string()),
        ("n_characters", pa.int64()),
        ("n_tokens", pa.int64()),
        ("n_trained_turns", pa.int64()),
        ("n_trained_tokens", pa.int64()),
        ("stop_token_in_span", pa.bool_()),
        ("n_boundary_merges", pa.int64()),
        ("n_injected_tokens", pa.int64()),
        ("over_limit", pa.bool_()),
        ("verdict", pa.string()),
        ("reason", pa.string()),
        ("tokenizer", pa.string()),
        ("tokenizer_sha256", pa.string()),
        ("template_sha256", pa.string()),
        ("template_date", pa.string()),
    ]
)
"""One row a candidate row; counts of trained turns and tokens are those of turns that pass."""

TURNS = pa.schema(
    [
        ("mix", pa.string()),
        ("row_id", pa.string()),
        ("message_index", pa.int64()),
        ("first_token", pa.int64()),
        ("end_token", pa.int64()),
        ("n_tokens", pa.int64()),
        ("stop_token_in_span", pa.bool_()),
        ("decoded_equal", pa.bool_()),
        ("n_boundary_merges", pa.int64()),
        ("verdict", pa.string()),
        ("reason", pa.string()),
    ]
)
"""One row a trained turn of a candidate row; `end_token` is exclusive and counts the stop token in the span."""

OUTPUTS = {ROWS_TABLE: ROWS, TURNS_TABLE: TURNS}


@dataclass(frozen=True)
class AuditedRow:
    """What a file holds of one row, apart from its key: the columns of `ROWS` and `TURNS` after it."""

    row: tuple[Any, ...]
    turns: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class Task:
    """One block of landed lines and the rows that are cut from it, each with its place."""

    landing: Path
    block: Block
    rows: tuple[tuple[Place, RowRequest], ...]
    tokenizer: Path | None
    identity: Identity
    max_row_tokens: int
    fingerprint: str


@dataclass(frozen=True)
class Done:
    """How many rows a task audited and how many it found again, the tokens it encoded, and its seconds."""

    n_audited: int
    n_found: int
    n_tokens: int
    seconds: float


@dataclass(frozen=True)
class Report:
    """What an audit of all rows took: rows audited and found again, tokens encoded, wall seconds; and the tokenizer's
    name, null without one.
    """

    n_audited: int
    n_found: int
    n_tokens: int
    seconds: float
    tokenizer: str | None

    def sentence(self) -> str:
        """One line for a person."""
        if self.tokenizer is None:
            return (
                f"Mask audit: {self.n_audited:,} rows by their messages alone, {self.n_found:,} known from before; no "
                "tokenizer is named, so every figure of tokens is unknown: set ASSAY_TOKENIZER to that of your model"
            )
        rate = f"{self.n_tokens / self.seconds:,.0f} tokens/s" if self.seconds > 0 else "no time at all"
        return (
            f"Mask audit: {self.n_audited:,} rows of {self.n_tokens:,} tokens in {self.seconds:.1f} s ({rate}); "
            f"{self.n_found:,} rows known from before; tokenizer: {shown(self.tokenizer)}"
        )


def audit_tree(
    rows: Path,
    landing: Path,
    tokenizer: Path | None,
    max_row_tokens: int,
    workers: int | None = None,
    watched: bool = False,
    today: str = TODAY.isoformat(),
) -> Report:
    """Bring `mix_audit_rows` and `mix_audit_turns` below `landing` to what the rows say.

    `rows` is a parquet file with a row a candidate row: mix, row_id, text_source, text_artifact_id, text_line,
    text_side, message_indexes, trained (both: indexes of landed messages). Results are found again by content: the
    same messages under the same mask, tokenizer, template, limit and code. `today` is the day (ISO) that a template is
    told. Without a tokenizer the mask is looked at message by message, and every figure of tokens is null.
    """
    started = time.monotonic()
    identity = identity_of(tokenizer, today)
    fingerprint = _fingerprint(identity, named_tokens_of(tokenizer) if tokenizer else {}, max_row_tokens)
    with writing(landing):
        for table, schema in OUTPUTS.items():
            (landing / table).mkdir(parents=True, exist_ok=True)
            pq.write_table(schema.empty_table(), landing / table / EMPTY_FILE)
    blocks = _blocks(rows)
    tasks = [
        Task(landing, block, tuple(cut), tokenizer, identity, max_row_tokens, fingerprint)
        for block, cut in sorted(blocks.items())
    ]
    tasks.sort(key=lambda task: (-len(task.rows), task.block))
    n_rows = sum(len(task.rows) for task in tasks)
    done = [0, 0, 0]
    with Progress("mask audit, rows", n_rows, watched) as progress:
        for task, result in each(tasks, _audit, workers, n_rows < _ALONE_ROWS, lambda task: task.block.artifact_id):
            done = [done[0] + result.n_audited, done[1] + result.n_found, done[2] + result.n_tokens]
            rate = done[2] / max(time.monotonic() - started, 1e-9)
            progress.add(len(task.rows), f"{rate:,.0f} tokens/s")
    stems = {f"{task.block.stem}.parquet" for task in tasks} | {EMPTY_FILE}
    for table in OUTPUTS:
        for path in (landing / table).iterdir():
            if path.name not in stems:
                path.unlink()
    return Report(done[0], done[1], done[2], time.monotonic() - started, identity.tokenizer)


def _fingerprint(identity: Identity, named_tokens: dict[str, str], max_row_tokens: int) -> str:
    """What a verdict depends on besides the row: code, libraries, tokenizer, template and its tokens, limit."""
    used = f"{tokenizers.__version__} {identity} {named_tokens} {max_row_tokens}"
    digest = hashlib.sha256(used.encode("utf-8", "surrogatepass"))
    modules = (
        assay.mixes.audit,
        assay.chat_templates,
        assay.mixes.texts,
        assay.mixes.tokenizer,
        assay.tokenizer_folder,
    )
    for module in modules:
        digest.update(Path(str(module.__file__)).read_bytes())
    digest.update(Path(__file__).read_bytes())
    return digest.hexdigest()


def _blocks(rows: Path) -> dict[Block, list[tuple[Place, RowRequest]]]:
    grouped: dict[Block, list[tuple[Place, RowRequest]]] = defaultdict(list)
    for batch in pq.ParquetFile(rows).iter_batches():
        for row in batch.to_pylist():
            block = Block.of(row["text_source"], row["text_artifact_id"], row["text_line"])
            request = RowRequest(
                row["mix"], row["row_id"], tuple(row["message_indexes"] or ()), tuple(row["trained"] or ())
            )
            grouped[block].append((block.place(row["text_line"], row["text_side"]), request))
    for cut in grouped.values():
        cut.sort(key=lambda pair: (pair[0], pair[1].mix, pair[1].row_id))
    return grouped


def _audit(task: Task) -> Done:
    started = time.monotonic()
    known = _known(task)
    cut: dict[Place, list[RowRequest]] = defaultdict(list)
    for place, request in task.rows:
        cut[place].append(request)
    rows: list[tuple[Any, ...]] = []
    turns: list[tuple[Any, ...]] = []
    n_audited = n_found = n_tokens = 0

    def add(request: RowRequest, audited: AuditedRow) -> None:
        key = (request.mix, request.row_id)
        rows.append((*key, *audited.row))
        turns.extend((*key, *turn) for turn in audited.turns)

    tokenizer = load(task.tokenizer, task.identity) if task.tokenizer else None
    for place, conversation in conversations(task.landing, task.block, cut):
        digests = {index: _digest(message) for index, message in conversation.items()}
        new: list[tuple[str, RowRequest]] = []
        for request in cut.pop(place):
            content_key = _content_key(digests, request)
            if content_key in known:
                n_found += 1
                add(request, known[content_key])
            else:
                new.append((content_key, request))
        requests = [request for _, request in new]
        results = audit_conversation(tokenizer, conversation, requests)
        for (content_key, request), result in zip(new, results, strict=True):
            n_audited += 1
            n_tokens += result.n_tokens or 0
            add(request, audited_row(content_key, request, result, task))
    for requests in cut.values():  # what is not in the landed file
        for request in requests:
            result = unknown(request, "no_messages")
            add(request, audited_row(_content_key({}, request), request, result, task))
    _write(task, rows, turns)
    return Done(n_audited, n_found, n_tokens, time.monotonic() - started)


def audited_row(content_key: str, request: RowRequest, result: RowAudit, task: Task) -> AuditedRow:
    """The columns of a row and of its turns from what the audit found; a turn is named by its place in the row."""
    places = {index: place for place, index in enumerate(request.message_indexes)}
    passing = [turn for turn in result.turns if turn.verdict == "pass"]
    is_known = result.verdict != "unknown"
    is_encoded = is_known and task.tokenizer is not None
    turns = tuple(
        (
            places.get(turn.message_index),
            turn.first_token,
            turn.end_token,
            None if turn.first_token is None or turn.end_token is None else turn.end_token - turn.first_token,
            turn.stop_token_in_span,
            turn.decoded_equal,
            turn.n_boundary_merges,
            turn.verdict,
            turn.reason,
        )
        for turn in result.turns
    )
    if result.n_tokens is not None:
        over: bool | None = result.n_tokens > task.max_row_tokens
    else:
        over = True if is_encoded and result.reason == "too_long_to_encode" else None
    row = (
        content_key,
        result.n_characters,
        result.n_tokens,
        len(passing) if is_known else None,
        sum((turn.end_token or 0) - (turn.first_token or 0) for turn in passing) if is_encoded else None,
        all(turn.stop_token_in_span for turn in passing) if passing and is_encoded else None,
        sum(turn.n_boundary_merges or 0 for turn in result.turns) if is_encoded else None,
        result.n_injected_tokens,
        over,
        result.verdict,
        result.reason,
        task.identity.tokenizer,
        task.identity.tokenizer_sha256,
        task.identity.template_sha256,
        task.identity.template_date,
    )
    return AuditedRow(row, turns)


def _digest(message: Message) -> bytes:
    digest = hashlib.blake2b(message.role.encode("utf-8", "surrogatepass") + b"\0", digest_size=16)
    digest.update(message.content.encode("utf-8", "surrogatepass"))
    return digest.digest()


def _content_key(digests: dict[int, bytes], request: RowRequest) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for index in request.message_indexes:
        digest.update(digests.get(index, b"absent"))
    digest.update(json.dumps([request.message_indexes, request.trained]).encode())
    return digest.hexdigest()


def _known(task: Task) -> dict[str, AuditedRow]:
    """What an earlier build found out of the same content; a file of other code or settings is as good as none."""
    paths = [task.landing / table / f"{task.block.stem}.parquet" for table in OUTPUTS]
    try:
        if any((pq.read_schema(path).metadata or {}).get(_FINGERPRINT) != task.fingerprint.encode() for path in paths):
            return {}
        rows, turns = (pq.read_table(path).to_pylist() for path in paths)
    except (OSError, pa.ArrowException):
        return {}
    by_row: dict[tuple[str, str], list[tuple[Any, ...]]] = defaultdict(list)
    for turn in turns:
        by_row[turn["mix"], turn["row_id"]].append(tuple(turn.values())[2:])
    return {
        row["content_key"]: AuditedRow(tuple(row.values())[2:], tuple(by_row[row["mix"], row["row_id"]]))
        for row in rows
        if row["reason"] != "no_messages"
    }


def _write(task: Task, rows: Sequence[tuple[Any, ...]], turns: Sequence[tuple[Any, ...]]) -> None:
    tables = ((ROWS_TABLE, ROWS, rows), (TURNS_TABLE, TURNS, turns))
    with (
        writing(task.landing),
        whole(*(task.landing / table / f"{task.block.stem}.parquet" for table, _, _ in tables)) as parts,
    ):
        for part, (_, schema, values) in zip(parts, tables, strict=True):
            marked = schema.with_metadata({_FINGERPRINT: task.fingerprint})
            columns = list(zip(*sorted(values, key=lambda row: row[:3]), strict=True)) or [()] * len(schema)
            arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
            pq.write_table(pa.table(arrays, schema=marked), part, compression="zstd", compression_level=1)
