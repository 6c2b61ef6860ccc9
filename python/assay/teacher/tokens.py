"""Token counts of prompts with the configured tokenizer (contract sn120 C.7)."""

import hashlib
import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import assay.teacher
from assay.errors import AssayError
from assay.steps.pool import each
from assay.steps.state import State, code_fingerprint
from assay.steps.writing import writing
from assay.teacher.tables import Writer, keep_only, landed_files, prepare, stamp

TABLE = "teacher_prompt_tokens"
STATE_FILE = "teacher_prompt_tokens.json"
_PROMPTS_AT_A_TIME = 32
_ALONE_BYTES = 1 << 20


@dataclass(frozen=True)
class _Task:
    landing: Path
    stem: str
    tokenizer: Path | None

    @property
    def prompts(self) -> Path:
        return self.landing / "teacher_prompts" / f"{self.stem}.parquet"


def count_tokens(landing: Path, tokenizer_folder: Path, workers: int | None = None) -> int:
    """Bring `teacher_prompt_tokens` to what `teacher_prompts` says; return how many files were counted anew.

    Counts the prompt as it is, without added special tokens. Without `tokenizer.json` every count is null.
    """
    prepare(landing, [TABLE])
    path = tokenizer_folder / "tokenizer.json"
    tokenizer = path if path.is_file() else None
    identity = hashlib.sha256(path.read_bytes()).hexdigest() if tokenizer else "none"
    state = State.load(landing / STATE_FILE, code_fingerprint(assay.teacher) + identity)
    tasks = [_Task(landing, file.stem, tokenizer) for file in landed_files(landing, "teacher_prompts")]
    todo = [
        task
        for task in tasks
        if state.result(task.stem, stamp(task.prompts)) is None
        or not (landing / TABLE / f"{task.stem}.parquet").exists()
    ]
    sizes = {task.stem: task.prompts.stat().st_size for task in todo}
    todo.sort(key=lambda task: (-sizes[task.stem], task.stem))
    try:
        for task, _ in each(todo, _count, workers, sum(sizes.values()) < _ALONE_BYTES, lambda task: task.stem):
            state.put(task.stem, stamp(task.prompts), {})
    finally:
        with writing(landing):
            state.keep_only(task.stem for task in tasks)
            state.save()
    keep_only(landing, [TABLE], [task.stem for task in tasks])
    return len(todo)


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


def _count(task: _Task) -> None:
    tokenizer = _tokenizer(task.tokenizer) if task.tokenizer else None
    columns = ["corpus_epoch", "turn_id", "prompt"]
    with writing(task.landing):
        writer = Writer(task.landing, TABLE, task.stem)
        try:
            for batch in pq.ParquetFile(task.prompts).iter_batches(batch_size=_PROMPTS_AT_A_TIME, columns=columns):
                writer.write(_rows(batch.to_pylist(), tokenizer))
            writer.close()
        except BaseException:
            writer.abandon()
            raise


def _rows(records: list[dict[str, Any]], tokenizer: Any) -> list[tuple[Any, ...]]:
    prompts = [record["prompt"] for record in records if record["prompt"] is not None]
    counts: list[int] = []
    if tokenizer is not None:
        counts = [len(encoding.ids) for encoding in tokenizer.encode_batch_fast(prompts, add_special_tokens=False)]
    rows: list[tuple[Any, ...]] = []
    following = iter(counts)
    for record in records:
        fault = "no_prompt" if record["prompt"] is None else "no_tokenizer" if tokenizer is None else None
        count = None if fault else next(following)
        rows.append((record["corpus_epoch"], record["turn_id"], count, fault))
    return rows
