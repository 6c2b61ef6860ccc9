"""The mask audit of every candidate row, in a pool of processes, and only of rows whose content is new."""

import hashlib
import json
import time
from collections import defaultdict
from dataclasses import dataclass
from functools import partial
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
from assay.landing.artifact import artifact_key
from assay.landing.run import STEP as LANDING
from assay.mixes.audit import Message, RowAudit, RowRequest, audit_conversation, unknown
from assay.mixes.texts import Block, Place, conversations
from assay.mixes.tokenizer import Identity, identity_of, load
from assay.names import shown
from assay.steps.runner import Step, Write, run
from assay.steps.state import digest, versions
from assay.steps.tables import Output, batch_of
from assay.tokenizer_folder import named_tokens_of

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

STEPS = {"mix": "mask_audit", "pair": "pair_audit"}
"""What an audit is called, by what it audits: rows of a mix, or the two sides of a preference pair."""


def outputs_of(subject: str) -> dict[str, pa.Schema]:
    """The tables of an audit."""
    return {f"{subject}_audit_rows": ROWS, f"{subject}_audit_turns": TURNS}


@dataclass(frozen=True)
class AuditedRow:
    """What a file holds of one row, apart from its key: the columns of `ROWS` and `TURNS` after it."""

    row: tuple[Any, ...]
    turns: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class Task:
    """One block of landed lines, what names its content, and the rows that are cut from it with their places."""

    landing: Path
    block: Block
    version: str | None
    rows: tuple[tuple[Place, RowRequest], ...]

    @property
    def key(self) -> str:
        """Names the files of the block."""
        return self.block.stem

    @property
    def name(self) -> str:
        """What a message calls it."""
        return str(self.block.landed(self.landing))

    @property
    def size(self) -> int:
        """Rows to audit."""
        return len(self.rows)

    @property
    def stamp(self) -> list[str] | None:
        """What was landed, and which rows are cut from it how."""
        return None if self.version is None else [self.version, digest(repr(self.rows))]


@dataclass(frozen=True)
class Settings:
    """What every row is audited with."""

    tokenizer: Path | None
    identity: Identity
    max_row_tokens: int
    fingerprint: str
    outputs: tuple[str, ...]


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
    today: str = TODAY.isoformat(),
    subject: str = "mix",
) -> Report:
    """Bring the tables of `outputs_of(subject)` below `landing` to what the rows say.

    `rows` is a parquet file with a row a candidate row: mix, row_id, text_source, text_artifact_id, text_line,
    text_side, message_indexes, trained (both: indexes of landed messages). Results are found again by content: the
    same messages under the same mask, tokenizer, template, limit and code. `today` is the day (ISO) that a template is
    told. Without a tokenizer the mask is looked at message by message, and every figure of tokens is null.
    """
    started = time.monotonic()
    identity = identity_of(tokenizer, today)
    fingerprint = _fingerprint(identity, named_tokens_of(tokenizer) if tokenizer else {}, max_row_tokens)
    landed = versions(landing, LANDING)
    tasks = [
        Task(landing, block, landed.get(artifact_key(block.artifact_id)), tuple(cut))
        for block, cut in sorted(_blocks(rows).items())
    ]
    outputs = outputs_of(subject)
    step = Step(
        name=STEPS[subject],
        folder=landing,
        outputs={name: Output(schema.with_metadata({_FINGERPRINT: fingerprint})) for name, schema in outputs.items()},
        fingerprint=fingerprint,
        work=partial(_audit, Settings(tokenizer, identity, max_row_tokens, fingerprint, tuple(outputs))),
        alone_below=_ALONE_ROWS,
    )
    outcome = run(step, tasks, workers)
    done = [outcome.results[key] for key in outcome.new]
    n_audited, n_tokens = (sum(result[name] for result in done) for name in ("n_audited", "n_tokens"))
    n_found = sum(task.size for task in tasks) - n_audited
    return Report(n_audited, n_found, n_tokens, time.monotonic() - started, identity.tokenizer)


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


def _audit(settings: Settings, task: Task, write: Write) -> dict[str, int]:
    known = _known(settings, task)
    cut: dict[Place, list[RowRequest]] = defaultdict(list)
    for place, request in task.rows:
        cut[place].append(request)
    rows: list[tuple[Any, ...]] = []
    turns: list[tuple[Any, ...]] = []
    n_audited = n_tokens = 0

    def add(request: RowRequest, audited: AuditedRow) -> None:
        key = (request.mix, request.row_id)
        rows.append((*key, *audited.row))
        turns.extend((*key, *turn) for turn in audited.turns)

    tokenizer = load(settings.tokenizer, settings.identity) if settings.tokenizer else None
    for place, conversation in conversations(task.landing, task.block, cut):
        digests = {index: _digest(message) for index, message in conversation.items()}
        new: list[tuple[str, RowRequest]] = []
        for request in cut.pop(place):
            content_key = _content_key(digests, request)
            if content_key in known:
                add(request, known[content_key])
            else:
                new.append((content_key, request))
        requests = [request for _, request in new]
        results = audit_conversation(tokenizer, conversation, requests)
        for (content_key, request), result in zip(new, results, strict=True):
            n_audited += 1
            n_tokens += result.n_tokens or 0
            add(request, audited_row(content_key, request, result, settings))
    for requests in cut.values():  # what is not in the landed file
        for request in requests:
            result = unknown(request, "no_messages")
            add(request, audited_row(_content_key({}, request), request, result, settings))
    for table, schema, values in zip(settings.outputs, (ROWS, TURNS), (rows, turns), strict=True):
        write(table, batch_of(schema, sorted(values, key=lambda row: row[:3])))
    return {"n_audited": n_audited, "n_tokens": n_tokens}


def audited_row(content_key: str, request: RowRequest, result: RowAudit, settings: Settings) -> AuditedRow:
    """The columns of a row and of its turns from what the audit found; a turn is named by its place in the row."""
    places = {index: place for place, index in enumerate(request.message_indexes)}
    passing = [turn for turn in result.turns if turn.verdict == "pass"]
    is_known = result.verdict != "unknown"
    is_encoded = is_known and settings.tokenizer is not None
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
        over: bool | None = result.n_tokens > settings.max_row_tokens
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
        settings.identity.tokenizer,
        settings.identity.tokenizer_sha256,
        settings.identity.template_sha256,
        settings.identity.template_date,
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


def _known(settings: Settings, task: Task) -> dict[str, AuditedRow]:
    """What an earlier build found out of the same content; a file of other code or settings is as good as none."""
    paths = [task.landing / table / f"{task.key}.parquet" for table in settings.outputs]
    try:
        marks = {(pq.read_schema(path).metadata or {}).get(_FINGERPRINT) for path in paths}
        if marks != {settings.fingerprint.encode()}:
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
