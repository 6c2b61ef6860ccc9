"""Token counts of prompts with the configured tokenizer (contract sn120 C.7)."""

import hashlib
import os
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import assay.teacher
from assay.errors import AssayError
from assay.steps.runner import Step, Write, run
from assay.steps.state import code_fingerprint, versions
from assay.steps.tables import batch_of, files_of
from assay.teacher import prompts
from assay.teacher.tables import OUTPUTS, TOKENS
from assay.tokenizer_folder import TokenizerFailedError, tokenizing

TABLE = "teacher_prompt_tokens"
STEP = "teacher_prompt_tokens"
_PROMPTS_AT_A_TIME = 32
_ALONE_BYTES = 1 << 20


@dataclass(frozen=True)
class _Task:
    prompts: Path
    version: str | None

    @property
    def key(self) -> str:
        return self.prompts.stem

    @property
    def name(self) -> str:
        return str(self.prompts)

    @property
    def size(self) -> int:
        return self.prompts.stat().st_size

    @property
    def stamp(self) -> str | None:
        return self.version


def count_tokens(landing: Path, tokenizer_folder: Path, workers: int | None = None) -> int:
    """Bring `teacher_prompt_tokens` to what `teacher_prompts` says; return how many files were counted anew.

    Counts the prompt as it is, without added special tokens. Without `tokenizer.json` every count is null.
    """
    path = tokenizer_folder / "tokenizer.json"
    tokenizer = path if path.is_file() else None
    identity = hashlib.sha256(path.read_bytes()).hexdigest() if tokenizer else "none"
    made = versions(landing, prompts.STEP)
    step = Step(
        name=STEP,
        folder=landing,
        outputs={TABLE: OUTPUTS[TABLE]},
        fingerprint=code_fingerprint(assay.teacher) + identity,
        work=partial(_count, tokenizer),
        alone_below=_ALONE_BYTES,
    )
    tasks = [_Task(file, made.get(file.stem)) for file in files_of(landing, prompts.TABLE)]
    return len(run(step, tasks, workers).new)


@lru_cache(maxsize=1)
def _tokenizer(path: Path) -> Any:
    # Every process of the pool has a core of its own; threads inside it would only get in the way.
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises nothing more precise
        raise AssayError(f"the tokenizer {path} cannot be read: {error}") from None
    # A published file may cut or fill what it is given; the count is of the whole prompt.
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def _count(path: Path | None, task: _Task, write: Write) -> None:
    count_file(path, task.prompts, write)


def count_file(path: Path | None, prompts: Path, write: Write) -> None:
    """Write the token counts of a file of prompts; a count that there is none of has its fault beside it."""
    tokenizer = _tokenizer(path) if path else None
    columns = ["corpus_epoch", "turn_id", "prompt"]
    for batch in pq.ParquetFile(prompts).iter_batches(batch_size=_PROMPTS_AT_A_TIME, columns=columns):
        write(TABLE, batch_of(TOKENS, _rows(batch.to_pylist(), tokenizer)))


def _rows(records: list[dict[str, Any]], tokenizer: Any) -> list[tuple[Any, ...]]:
    prompts = [record["prompt"] for record in records if record["prompt"] is not None]
    following = iter(_counts(prompts, tokenizer) if tokenizer is not None else ())
    rows: list[tuple[Any, ...]] = []
    for record in records:
        fault = "no_prompt" if record["prompt"] is None else "no_tokenizer" if tokenizer is None else None
        count = None if fault else next(following)
        if fault is None and count is None:
            fault = "tokenizer_failed"
        rows.append((record["corpus_epoch"], record["turn_id"], count, fault))
    return rows


def _counts(prompts: list[str], tokenizer: Any) -> list[int | None]:
    """Tokens of each prompt; null for one that the tokenizer gives up on, which then fails alone."""
    try:
        with tokenizing():
            return [len(encoding.ids) for encoding in tokenizer.encode_batch_fast(prompts, add_special_tokens=False)]
    except TokenizerFailedError:
        half = len(prompts) // 2
        return _counts(prompts[:half], tokenizer) + _counts(prompts[half:], tokenizer) if half else [None]
