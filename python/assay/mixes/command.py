"""`assay export`: an exported mix in the form that a trainer reads, with the configuration to read it by."""

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import msgspec
import msgspec.structs
import pyarrow as pa
import pyarrow.parquet as pq

from assay.chat_templates import TODAY
from assay.errors import AssayError
from assay.mixes.export import AUDIT_FILE, FOLDER, SPLITS
from assay.mixes.formats import FORMATS, PAIR_FORMATS
from assay.mixes.formats.base import Format, Row, Setting, UnfitRowError, training_template
from assay.mixes.pairs import PAIRS, PairRecord, decoded_pair
from assay.mixes.rows import BYTES_A_GROUP, RowRecord, decoded, encoded, lines_of
from assay.mixes.tokenizer import AuditTokenizer, identity_of, load, tokenizer_folder
from assay.names import shown
from assay.steps.writing import whole, writing

FORMATS_FOLDER = "formats"
Record = TypeVar("Record")
_ROWS_A_GROUP = 256


@dataclass(frozen=True)
class Request:
    """What the user asks of an export; where a file is null, the one of the last build."""

    mix: str
    format: str
    out: Path | None = None
    split: str = "all"
    exports: Path | None = None
    tokenizer: str | None = None
    max_row_tokens: int | None = None


def run(arguments: Request) -> int:
    """Write the rows, the configuration beside them, and say how many rows became how many."""
    if arguments.split not in ("all", *SPLITS):
        raise AssayError(f"no split is called {shown(arguments.split)}; there are all, {', '.join(SPLITS)}")
    formats = PAIR_FORMATS if arguments.mix == PAIRS else FORMATS
    made = formats.get(arguments.format)
    if made is None:
        raise AssayError(
            f"no format of {shown(arguments.mix)} is called {shown(arguments.format)}; there are {', '.join(formats)}"
        )
    exports = arguments.exports or Path(os.environ.get("ASSAY_EXPORTS") or "exports")
    source = mix_file(exports, arguments.mix)
    raw_root = os.environ.get("ASSAY_RAW_ROOT") or "tests/fixtures/raw"
    named = arguments.tokenizer or os.environ.get("ASSAY_TOKENIZER") or ""
    tokenizer = audited_tokenizer(exports, tokenizer_folder(named, raw_root), bool(named))
    if tokenizer is None and made.needs_template:
        raise AssayError(
            f"{made.name} needs the text that a chat template prints, and no tokenizer was named at the build: "
            "set ASSAY_TOKENIZER and build again"
        )
    marked = "" if arguments.split == "all" else f".{arguments.split}"
    default = exports / FOLDER / FORMATS_FOLDER / f"{arguments.mix}{marked}.{made.name}{made.ending}"
    target = arguments.out or default
    if shown(target.name) != target.name:
        raise AssayError(f"no configuration can name the file {shown(target)}: give it a name of plain text with --out")
    if target.resolve().parent == source.resolve().parent:
        raise AssayError(f"{shown(target)} lies among the mixes themselves: name a file in another folder with --out")
    if arguments.max_row_tokens is not None and arguments.max_row_tokens < 1:
        raise AssayError(f"a context of {arguments.max_row_tokens} tokens holds no row: name a larger --max-row-tokens")
    measured = pair_lengths(source, arguments.max_row_tokens) if arguments.mix == PAIRS else None
    lengths = measured or audited_lengths(exports, arguments.max_row_tokens)
    arguments = replace(arguments, max_row_tokens=lengths.limit)
    if tokenizer is None and lengths.limit is not None:
        print(
            f"no tokenizer was named at the build: it is not known which targets a context of {lengths.limit:,} tokens "
            "cuts off",
            file=sys.stderr,
        )
    result = write_format(made, source, target, arguments, tokenizer, lengths.cut_off)
    grown = f", {target.stat().st_size / max(source.stat().st_size, 1):.2f} times the bytes"
    print(f"{result.n_read:,} rows became {result.n_written:,} rows in {shown(target)}{grown}")
    print(f"beside them: {', '.join(shown(path.name) for path in result.beside)}")
    if arguments.split == "all" and result.n_validation:
        print(f"{result.n_validation:,} of the rows read are held out for validation: --split train leaves them out")
    if result.n_cut_off:
        print(
            f"{result.n_cut_off:,} targets were left out, since a context of {lengths.limit:,} tokens would cut them "
            f"or another of their row off: --max-row-tokens {lengths.longest} holds all",
            file=sys.stderr,
        )
    for reason, count in sorted(result.unfit.items()):
        print(f"{count:,} rows were left out, since {made.name} cannot read them: {shown(reason)}", file=sys.stderr)
    return 0


def mix_file(exports: Path, mix: str) -> Path:
    """The canonical file of a mix. Raises AssayError when it, or any mix, is not there."""
    known = sorted(path.stem for path in (exports / FOLDER).glob("*.jsonl") if path.name != AUDIT_FILE)
    if not known:
        raise AssayError(
            f"no mixes were exported below {shown(exports)}: run `dbt build`, or name the folder (--exports)"
        )
    if mix not in known:
        raise AssayError(f"no mix is called {shown(mix)}; there are {', '.join(map(shown, known))}")
    return exports / FOLDER / f"{mix}.jsonl"


@dataclass(frozen=True)
class Lengths:
    """The context to train with, what the longest exported row needs, and which targets such a context cuts off.

    In tokens, null where no tokenizer counted them; `cut_off` has the places of the messages by the id of their row,
    for rows that have such a target.
    """

    limit: int | None
    longest: int | None
    cut_off: Mapping[str, frozenset[int]]


def audited_lengths(exports: Path, limit: int | None) -> Lengths:
    """Lengths from the audit beside the mixes; without a limit it is that of the longest exported row.

    Raises AssayError when the audit is gone: a context that is guessed cuts targets off without a word, and a trainer
    then learns nothing from the row, or the wrong half of a target.
    """
    path = exports / FOLDER / AUDIT_FILE
    if not path.is_file():
        raise AssayError(f"{shown(path)} is gone, so it is not known which rows a context holds: build again")
    longest: int | None = 0
    cut_off: dict[str, frozenset[int]] = {}
    for line in lines_of(path):
        said = _audited(line, path)
        if not said.is_exported:
            continue
        longest = None if longest is None or said.n_tokens is None else max(longest, said.n_tokens)
        if limit is not None and (said.n_tokens or 0) > limit:
            passed = [turn for turn in said.turns if turn.verdict == "pass"]
            behind = [turn.message_index for turn in passed if (turn.end_token or 0) > limit]
            if behind:
                cut_off[said.id] = frozenset(behind)
    return Lengths(longest if limit is None else limit, longest, cut_off)


def pair_lengths(source: Path, limit: int | None) -> Lengths:
    """The same of preference pairs, which say their tokens themselves; a pair that has more is cut off."""
    longest: int | None = 0
    cut_off: dict[str, frozenset[int]] = {}
    for line in lines_of(source):
        pair = _decoded(decoded_pair, line, source)
        tokens = pair.pair_meta.chosen_tokens, pair.pair_meta.rejected_tokens
        needed = None if None in tokens else max(one or 0 for one in tokens)
        longest = None if longest is None or needed is None else max(longest, needed)
        if limit is not None and needed is not None and needed > limit:
            cut_off[pair.id] = frozenset((0,))
    return Lengths(longest if limit is None else limit, longest, cut_off)


class _AuditedTurn(msgspec.Struct):
    message_index: int = -1
    end_token: int | None = None
    verdict: str = ""


class _Audited(msgspec.Struct):
    id: str = ""
    is_exported: bool = False
    n_tokens: int | None = None
    turns: list[_AuditedTurn] = []
    tokenizer_sha256: str | None = None
    template_sha256: str | None = None
    template_date: str | None = None


def _audited(line: bytes, path: Path) -> _Audited:
    try:
        return msgspec.json.decode(line, type=_Audited)
    except (msgspec.MsgspecError, ValueError) as error:
        raise AssayError(f"{shown(path)} holds a line that is no row of an audit: {error}") from None


def audited_tokenizer(exports: Path, folder: Path | None, is_named: bool = True) -> AuditTokenizer | None:
    """The tokenizer of the folder; null where the masks were proven without one and none is named.

    Raises AssayError when the masks were proven with another one.
    """
    path = exports / FOLDER / AUDIT_FILE
    first = next(lines_of(path), None) if path.is_file() else None
    if first is None:
        return load(folder, identity_of(folder)) if folder else None
    said = _audited(first, path)
    if said.template_sha256 is None:
        if is_named:
            raise AssayError(
                f"the masks below {shown(exports)} were proven without a tokenizer: build again with this one"
            )
        return None
    identity = identity_of(folder, said.template_date or TODAY.isoformat())
    if folder is None or (said.tokenizer_sha256, said.template_sha256) != (
        identity.tokenizer_sha256,
        identity.template_sha256,
    ):
        raise AssayError(
            f"the masks below {shown(exports)} were proven with another tokenizer or template than "
            f"{shown(folder) if folder else 'none'}: name that one with --tokenizer, or build again with this one"
        )
    return load(folder, identity)


@dataclass
class Result:
    """Rows read, those of them held out for validation, and written; targets cut off; rows left out by the reason;
    the files beside the rows: the configuration, and a chat template to train with.
    """

    n_read: int = 0
    n_validation: int = 0
    n_written: int = 0
    n_cut_off: int = 0
    unfit: Counter[str] = field(default_factory=Counter)
    beside: list[Path] = field(default_factory=list)


def write_format(
    made: Format,
    source: Path,
    target: Path,
    arguments: Request,
    tokenizer: AuditTokenizer | None,
    cut_off: Mapping[str, frozenset[int]],
) -> Result:
    """Write a mix in a format and its configuration beside it; both or none.

    A row with a target in `cut_off` is left out, or that target alone where every target has a row of its own.
    """
    template = None
    result = Result()
    if made.masks_generation_prompt and tokenizer is not None:
        try:
            template = training_template(tokenizer.template_source, tokenizer)
        except UnfitRowError as error:
            print(f"assay: {made.name} may mask the start of every reply: {error}", file=sys.stderr)
    template_path = target.with_name(f"{target.name}.chat_template.jinja")
    setting = Setting(
        tokenizer=tokenizer,
        data_file=target.name,
        dataset_name=f"assay_{arguments.mix}",
        max_row_tokens=arguments.max_row_tokens,
        template_file=None if template is None else template_path.name,
    )
    result.beside = [target.with_name(f"{target.name}.config{made.snippet_ending}")]
    if template is not None:
        result.beside.append(template_path)

    decode: Callable[[bytes], RowRecord | PairRecord] = decoded_pair if arguments.mix == PAIRS else decoded

    def made_rows() -> Iterator[Row]:
        for line in lines_of(source):
            row: RowRecord | PairRecord = _decoded(decode, line, source)
            if arguments.split not in ("all", row.split):
                continue
            result.n_read += 1
            result.n_validation += row.split == "validation"
            if row.id in cut_off:
                kept = None
                if made.one_row_a_turn and isinstance(row, RowRecord):
                    kept = _without(row, cut_off[row.id])
                result.n_cut_off += row.n_targets - (kept.n_targets if kept else 0)
                if kept is None or not kept.n_targets:
                    continue
                row = kept
            try:
                found = list(made.rows(row, setting))
            except UnfitRowError as error:
                result.unfit[str(error)] += 1
                continue
            result.n_written += len(found)
            yield from found

    with writing(target.parent):
        target.parent.mkdir(parents=True, exist_ok=True)
        with whole(target, *result.beside) as parts:
            _write_rows(made, made_rows(), parts[0])
            parts[1].write_text(made.snippet(setting), encoding="utf-8", newline="\n")
            if template is not None:
                parts[2].write_text(template, encoding="utf-8", newline="\n")
        if template is None:
            template_path.unlink(missing_ok=True)
    return result


def _without(row: RowRecord, places: frozenset[int]) -> RowRecord:
    """The row with the messages at these places as context."""
    messages = [
        msgspec.structs.replace(message, train=False) if place in places else message
        for place, message in enumerate(row.messages)
    ]
    return msgspec.structs.replace(row, messages=messages)


def _decoded(decode: Callable[[bytes], Record], line: bytes, source: Path) -> Record:
    try:
        return decode(line)
    except (msgspec.MsgspecError, ValueError) as error:
        raise AssayError(f"{shown(source)} holds a line that is no row of a mix: {error}") from None


def _write_rows(made: Format, rows: Iterator[Row], path: Path) -> None:
    if made.schema is None:
        with path.open("wb", buffering=1 << 20) as file:
            for row in rows:
                file.write(encoded(row) + b"\n")
        return
    with pq.ParquetWriter(path, made.schema, compression="zstd", compression_level=1) as table:
        group: list[Row] = []
        n_bytes = 0
        for row in rows:
            group.append(row)
            n_bytes += len(encoded(row))
            if len(group) == _ROWS_A_GROUP or n_bytes >= BYTES_A_GROUP:
                table.write_table(pa.Table.from_pylist(group, schema=made.schema))
                group, n_bytes = [], 0
        if group:
            table.write_table(pa.Table.from_pylist(group, schema=made.schema))
